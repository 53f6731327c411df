/*
 * conf_check_id: the check of server-id, which becomes the host's name where it is auto. The name
 * goes into log lines and labels as it is, so it is made of plain bytes. Called once per
 * conf; never resolves a name.
 */
#include "conf/conf_check_id.h"

#include <string.h>
#include <unistd.h>

static bool is_id(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");

	return s[n] == '\0' && n <= CONF_ID_MAX;
}

/* A host's name may be longer than an ID: what stands before its first dot will do then. */
static void take_host(struct conf *conf, struct conf_faults *faults)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1) < 0 || *name == '\0') {
		conf_fault(faults, &conf->server_id_at, "server-id = auto: this host has no name");
		return;
	}
	if (strlen(name) > CONF_ID_MAX)
		name[strcspn(name, ".")] = '\0';
	conf->server_id = arena_strdup(&conf->arena, name);
	if (conf->server_id == NULL)
		conf_fault_oom(faults, &conf->server_id_at);
}

void conf_check_id(struct conf *conf, struct conf_faults *faults)
{
	if (conf->server_id != NULL && strcmp(conf->server_id, "auto") == 0)
		take_host(conf, faults);
	if (conf->server_id == NULL)
		return;
	if (!is_id(conf->server_id))
		conf_fault(faults, &conf->server_id_at,
			"server-id \"%.200s\" is not made of letters, digits and -._, or is longer "
			"than %d bytes",
			conf->server_id, CONF_ID_MAX);
}
