/*
 * conf_hosts: lists the folder in front of ${host} and copies the server for each name of a host in
 * it that no other server has. Called by conf_load; opens no file.
 */
#include "conf/conf_hosts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/name_map.h"
#include "conf/conf_check_name.h"
#include "conf/conf_env.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"

enum { NOT_FOUND = 2 }; /* 404 among the choices of return */

struct hosts {
	struct conf *conf;
	struct conf_faults *faults;
	struct name_map taken; /* by servers */
};

/* A root: what stands in front of ${host}, and behind it. */
struct pattern {
	const char *head, *tail;
};

/* False: memory is out. */
static bool take(struct hosts *h, const char *name)
{
	char *lower = arena_strdup(&h->conf->arena, name);
	unsigned *value;

	for (char *c = lower; c != NULL && *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	value = lower != NULL ? name_map_put(&h->taken, slice_str(lower)) : NULL;
	if (value != NULL)
		*value = 1;
	return value != NULL;
}

static void take_names(struct hosts *h)
{
	for (unsigned i = 0; i < h->conf->nservers; i++) {
		const struct conf_server *s = &h->conf->servers[i];

		if (s->name != NULL && !take(h, s->name))
			conf_fault_oom(h->faults, &s->at);
		for (unsigned j = 0; j < s->server_name.n; j++)
			if (!take(h, s->server_name.v[j]))
				conf_fault_oom(h->faults, &s->at);
	}
}

/* Whether a server of that name, perhaps "_" or a wildcard, answers host. */
static bool covers(const char *name, const char *host)
{
	size_t n = strlen(name), all = strlen(host);

	if (strcmp(name, "_") == 0)
		return true;
	return name[0] == '*' && all >= n && strcasecmp(host + all - (n - 1), name + 1) == 0;
}

static bool answers(const struct conf_server *s, const char *host)
{
	bool any = s->name != NULL && covers(s->name, host);

	for (unsigned i = 0; i < s->server_name.n; i++)
		any |= covers(s->server_name.v[i], host);
	return any;
}

/* Hosts are looked up in lower case. */
static bool is_host(const char *name)
{
	for (const char *c = name; *c != '\0'; c++)
		if (isupper((unsigned char)*c))
			return false;
	return name[0] != '.' && name[0] != '*' && name[0] != '_' && conf_check_name(name) == NULL;
}

/* A server as the of-th one, for host and its folder. */
static void add(struct hosts *h, unsigned of, const char *host, char *root)
{
	struct conf *conf = h->conf;
	char *name = arena_strdup(&conf->arena, host);
	struct conf_server *s =
		conf_table_add(&conf->arena, conf, &conf_sections[CONF_SECTION_SERVER]);

	if (name == NULL || s == NULL || !take(h, host)) {
		conf_fault_oom(h->faults, &conf->servers[of].root_at);
		return;
	}
	*s = conf->servers[of];
	s->name = name;
	s->server_name.n = 0;
	s->root = root;
}

static void look(struct hosts *h, unsigned of, const struct pattern *p, const char *host)
{
	struct stat st;
	char *root;

	if (!is_host(host) || name_map_get(&h->taken, slice_str(host)) != 0 ||
		!answers(&h->conf->servers[of], host))
		return;
	root = arena_printf(&h->conf->arena, "%s%s%s", p->head, host, p->tail);
	if (root == NULL)
		conf_fault_oom(h->faults, &h->conf->servers[of].root_at);
	else if (stat(root, &st) == 0 && S_ISDIR(st.st_mode))
		add(h, of, host, root);
}

/* False, after a fault: ${host} is no folder of its own. */
static bool cut(struct hosts *h, const struct conf_server *s, struct pattern *p)
{
	const char *at = strstr(s->root, CONF_ENV_HOST);

	p->tail = at + strlen(CONF_ENV_HOST);
	p->head = arena_printf(&h->conf->arena, "%.*s", (int)(at - s->root), s->root);
	if (p->head == NULL)
		conf_fault_oom(h->faults, &s->root_at);
	else if (at > s->root && at[-1] == '/' && (*p->tail == '/' || *p->tail == '\0') &&
		 strstr(p->tail, CONF_ENV_HOST) == NULL)
		return true;
	else
		conf_fault(h->faults, &s->root_at,
			"root \"%.200s\": " CONF_ENV_HOST
			" is the whole name of a folder, once: \"/srv/" CONF_ENV_HOST "/public\"",
			s->root);
	return false;
}

/* Hosts that have no folder are answered with 404 by the server itself. */
static void expand(struct hosts *h, unsigned of)
{
	struct conf_server *s = &h->conf->servers[of];
	const struct conf_pos at = s->root_at;
	struct dirent **entries;
	struct pattern p;
	int n;

	if (!cut(h, s, &p)) {
		s->root = NULL;
		return;
	}
	n = scandir(p.head, &entries, NULL, alphasort);
	if (n < 0)
		conf_fault(h->faults, &at, "root \"%.200s\": %s", p.head, strerror(errno));
	for (int i = 0; i < n; i++) {
		look(h, of, &p, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	s = &h->conf->servers[of];
	s->root = conf_none;
	if (s->scope.returned == 0) {
		s->scope.returned = NOT_FOUND;
		s->scope.returned_at = at;
	}
}

void conf_hosts_expand(struct conf *conf, struct conf_faults *faults)
{
	struct hosts h = { .conf = conf, .faults = faults };
	unsigned n = conf->nservers;

	for (unsigned i = 0; i < n && !faults->oom; i++) {
		const char *root = conf->servers[i].root;

		if (root == NULL || strstr(root, CONF_ENV_HOST) == NULL)
			continue;
		if (h.taken.n == 0)
			take_names(&h);
		expand(&h, i);
	}
	name_map_fini(&h.taken);
}
