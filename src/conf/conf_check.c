/*
 * conf_check: the checks that involve several keys. Called once per conf; changes only the paths of
 * the logs, which become absolute, instance-name = auto, and refused values, which become NULL.
 */
#include "conf/conf_check.h"

#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "conf/conf.h"
#include "conf/conf_fault.h"
#include "conf/conf_handlers.h"
#include "conf/conf_path.h"
#include "conf/conf_value.h"

/* A log is one of the words, or a file. */
static void check_log(struct conf *conf, const char *key, char **log, const char *const *words,
	const struct conf_pos *pos, struct conf_faults *faults)
{
	struct stat st;

	if (*log == NULL)
		return;
	for (; *words != NULL; words++)
		if (strcmp(*log, *words) == 0)
			return;
	if (**log == '\0') {
		conf_fault(faults, pos, "%s is empty", key);
		return;
	}
	*log = conf_value_resolve(&conf->arena, pos, *log);
	if (*log == NULL) {
		conf_fault_oom(faults, pos);
		return;
	}
	if (lstat(*log, &st) == 0 && S_ISLNK(st.st_mode))
		conf_fault(faults, pos, "%s \"%s\" must not be a symbolic link", key, *log);
	conf_path_folder(conf, key, *log, pos, faults);
}

static void check_access_log(struct conf *conf, struct conf_log *log, struct conf_faults *faults)
{
	static const char *const words[] = { "off", "stdout", "stderr", NULL };
	const struct conf_list *skip = &log->access_log_skip;

	check_log(conf, "access-log", &log->access_log, words, &log->access_log_at, faults);
	for (unsigned i = 0; skip->v != NULL && i < skip->n; i++)
		if (strchr(skip->v[i], '*') != NULL || !conf_check_server_path(skip->v[i]))
			conf_fault(faults, &log->access_log_skip_at,
				"access-log-skip: \"%.200s\" is not a path: write \"/PATH\" or "
				"\"/PATH/\"",
				skip->v[i]);
}

static void conf_check_logs(struct conf *conf, struct conf_faults *faults)
{
	static const char *const words[] = { "stderr", "syslog", NULL };
	struct conf_access_logs all;

	check_log(conf, "error-log", &conf->error_log, words, &conf->error_log_at, faults);
	check_access_log(conf, &conf->log, faults);
	for (unsigned i = 0; i < conf->nservers; i++)
		check_access_log(conf, &conf->servers[i].log, faults);
	conf_access_logs(conf, &all);
	if (all.one_more != NULL)
		conf_fault(faults, all.one_more, "more than %d access logs", CONF_ACCESS_LOGS_MAX);
}

enum { CONF_ID_MAX = 64 }; /* bytes of instance-name */

/* A host's name may be too long for an ID: then the part before its first dot is used. */
static void take_host(struct conf *conf, struct conf_faults *faults)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1) < 0 || *name == '\0') {
		conf_fault(faults, &conf->instance_name_at,
			"instance-name = auto: this host has no name");
		return;
	}
	if (strlen(name) > CONF_ID_MAX)
		name[strcspn(name, ".")] = '\0';
	conf->instance_name = arena_strdup(&conf->arena, name);
	if (conf->instance_name == NULL)
		conf_fault_oom(faults, &conf->instance_name_at);
}

static void conf_check_id(struct conf *conf, struct conf_faults *faults)
{
	size_t n;

	if (conf->instance_name != NULL && strcmp(conf->instance_name, "auto") == 0)
		take_host(conf, faults);
	if (conf->instance_name == NULL)
		return;
	n = strspn(conf->instance_name,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");
	if (conf->instance_name[n] != '\0' || n > CONF_ID_MAX)
		conf_fault(faults, &conf->instance_name_at,
			"instance-name \"%.200s\": use letters, digits and -._, at most %d bytes",
			conf->instance_name, CONF_ID_MAX);
}

static void check_balance(const struct conf *conf, struct conf_faults *faults)
{
	const enum conf_balance *b = conf_balances(conf);
	char all[128];
	int n = snprintf(all, sizeof(all), "auto");

	for (; *b != BALANCE_AUTO; b++) {
		if (*b == conf_balance(conf))
			return;
		n += snprintf(all + n, sizeof(all) - (size_t)n, ", %s", conf_balance_name(*b));
	}
	conf_fault(faults, &conf->balance_at, "balance must be one of %s for dispatch = %s, not %s",
		all, conf_dispatch_name((enum conf_dispatch)conf->dispatch),
		conf_balance_name(conf_balance(conf)));
}

/* The fault of a title with more than an address, else why. */
static const char *wrong_title(const char *title, const char *why)
{
	const char *space = strpbrk(title, " \t,");

	if (space == NULL || strncmp(title, "unix:", 5) == 0)
		return why;
	if (strchr(space, ':') != NULL)
		return "write a section for each address";
	return "put options in braces: { tls = true }";
}

/* The listeners before the i-th are parsed into addrs. */
static void check_listen(
	struct conf *conf, unsigned i, struct addr *addrs, struct conf_faults *faults)
{
	const struct conf_listen *l = &conf->listens[i];
	const char *why = addr_parse(l->address, &addrs[i]);

	if (why != NULL) {
		conf_fault(faults, &l->at, "listen \"%.200s\": %s", l->address,
			wrong_title(l->address, why));
		return;
	}
	for (unsigned j = 0; j < i; j++) {
		/* Each listener on port 0 gets a port of its own. */
		if (!addr_equal(&addrs[i], &addrs[j]) ||
			(addrs[i].sa.sa_family != AF_UNIX && addr_port(&addrs[i]) == 0))
			continue;
		conf_fault(faults, &l->at, "duplicate listen \"%.200s\" (first at %s:%u)",
			l->address, conf->listens[j].at.file, conf->listens[j].at.line);
		break;
	}
	if (l->socket_group != NULL && *l->socket_group != '\0') {
		if (addrs[i].sa.sa_family != AF_UNIX)
			conf_fault(
				faults, &l->socket_group_at, "socket-group needs a unix: listener");
		else if (getgrnam(l->socket_group) == NULL)
			conf_fault(faults, &l->socket_group_at,
				"socket-group \"%.200s\" does not exist", l->socket_group);
	}
	if (l->haproxy_agent && (l->tls || l->admin || l->redirect_to_https || l->proxy_protocol))
		conf_fault(faults, &l->haproxy_agent_at, "haproxy-agent = true needs %s = false",
			l->tls                 ? "tls"
			: l->admin             ? "admin"
			: l->redirect_to_https ? "redirect-to-https"
					       : "proxy-protocol");
	if (l->admin_host.n > 0 && (!l->admin || addrs[i].sa.sa_family == AF_UNIX))
		conf_fault(faults, &l->admin_host_at,
			"admin-host needs admin = true and an IP address");
	/* The handshake chooses a protocol before its first byte. */
	if (l->tls && !l->http1)
		conf_fault(faults, &l->http1_at, "http1 = false needs tls = false");
	if (addrs[i].sa.sa_family == AF_UNIX) {
		conf_path_folder(conf, "listen", addrs[i].un.sun_path, &l->at, faults);
		if (l->tls)
			conf_fault(faults, &l->tls_at, "unix: listeners do not support tls");
	}
}

static void check_listens(struct conf *conf, struct conf_faults *faults)
{
	struct addr *addrs = arena_zalloc(&conf->arena, conf->nlistens * sizeof(*addrs));

	if (addrs == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	/* An unparsed address has no family and equals no other. */
	for (unsigned i = 0; i < conf->nlistens; i++) {
		conf_table_inherit(&conf->listens[i].timeouts,
			&conf_sections[CONF_SECTION_LISTEN_TIMEOUTS], &conf->timeouts,
			&conf_sections[CONF_SECTION_TIMEOUTS]);
		if (conf->listens[i].address != NULL)
			check_listen(conf, i, addrs, faults);
	}
}

static bool is_missing(const char *path)
{
	return path != NULL && *path == '\0';
}

static void check_pair_names(const char *key, struct conf_list *paths, const struct conf_pos *at,
	struct conf_faults *faults)
{
	for (unsigned i = 0; i < paths->n; i++) {
		if (*paths->v[i] != '\0')
			continue;
		conf_fault(faults, at, "%s: file names must not be empty", key);
		*paths = (struct conf_list){ 0 };
	}
	conf_path_readables(key, paths, at, faults);
}

/* Checks that there are as many keys as certificates; missing ones are not reported twice. at: of
 * the section. */
static void check_pairs(struct conf_pairs *p, const struct conf_pos *at, struct conf_faults *faults)
{
	unsigned n, nkeys;

	check_pair_names("certificate", &p->certificate, &p->certificate_at, faults);
	check_pair_names("certificate-key", &p->certificate_key, &p->certificate_key_at, faults);
	conf_path_readables("stapling-file", &p->stapling_file, &p->stapling_file_at, faults);
	n = p->certificate.n;
	nkeys = p->certificate_key.n;
	/* Certificates without one have "" in its place. */
	if (!faults->lost && p->certificate.v != NULL && p->stapling_file.n != 0 &&
		p->stapling_file.n != n)
		conf_fault(faults, &p->stapling_file_at,
			"stapling-file: %u instead of %u files: list one for each certificate, in "
			"the same order",
			p->stapling_file.n, n);
	if (faults->lost || p->certificate.v == NULL || p->certificate_key.v == NULL || n == nkeys)
		return;
	if (n == 0 || nkeys == 0)
		conf_fault(faults, at, "%s is missing: a certificate needs its key",
			nkeys == 0 ? "certificate-key" : "certificate");
	else
		conf_fault(faults, &p->certificate_key_at,
			"certificate-key: %u instead of %u files: list one for each certificate, "
			"in the same order",
			nkeys, n);
}

static void check_client_ca(struct conf_server_tls *tls, struct conf_faults *faults)
{
	if (!faults->lost && is_missing(tls->client_ca)) {
		if (tls->client_verify != VERIFY_OFF)
			conf_fault(faults, &tls->client_verify_at,
				"client-verify needs client-ca, the CA of client certificates");
		else if (!is_missing(tls->client_crl))
			conf_fault(faults, &tls->client_crl_at,
				"client-crl needs client-ca, its issuer");
	}
	conf_path_readable("client-ca", &tls->client_ca, &tls->client_ca_at, faults);
	conf_path_readable("client-crl", &tls->client_crl, &tls->client_crl_at, faults);
}

static void check_tls(struct conf *conf, struct conf_faults *faults)
{
	struct conf_tls *tls = &conf->tls;
	const struct conf_pos *at = tls->at.file != NULL ? &tls->at : &conf_command_line;
	const struct conf_listen *l = NULL;

	check_pairs(&tls->pairs, at, faults);
	if (tls->protocols.v != NULL && tls->protocols.n == 0) {
		conf_fault(faults, &tls->protocols_at, "protocols is empty");
		tls->protocols.v = NULL;
	}
	for (unsigned i = 0; i < conf->nservers; i++) {
		struct conf_server_tls *of = &conf->servers[i].tls;

		check_pairs(&of->pairs, &of->at, faults);
		check_client_ca(of, faults);
	}
	/* A listener needs a certificate, any. */
	for (unsigned i = 0; i < conf->nlistens && l == NULL; i++)
		if (conf->listens[i].tls)
			l = &conf->listens[i];
	if (l != NULL && !faults->lost && !conf_has_certificate(conf))
		conf_fault(faults, &l->at,
			"tls = true needs certificate and certificate-key in section tls");
}

/* The target of redirect-to-https must exist. */
static void check_redirects(const struct conf *conf, struct conf_faults *faults)
{
	for (unsigned i = 0; i < conf->nlistens; i++) {
		const struct conf_listen *l = &conf->listens[i];
		const struct conf_pos *at = &l->redirect_to_https_at;

		if (!l->redirect_to_https) {
			if (l->https_port != 0)
				conf_fault(faults, &l->https_port_at,
					"https-port needs redirect-to-https = true");
			continue;
		}
		if (l->tls || l->admin)
			conf_fault(faults, at, "redirect-to-https = true needs %s = false",
				l->tls ? "tls" : "admin");
		else if (conf_https(conf) == NULL && l->https_port == 0 && !faults->lost)
			conf_fault(faults, at,
				"redirect-to-https = true needs a listener with tls = true or an "
				"https-port");
	}
}

/* PROXY headers and address headers count only from named proxies. */
static void check_proxies(const struct conf *conf, struct conf_faults *faults)
{
	const struct conf_list *trusted = &conf->trusted_proxies;

	if (trusted->v == NULL || faults->lost)
		return;
	if (conf->client_address != NULL && strcmp(conf->client_address, "connection") != 0 &&
		trusted->n == 0)
		conf_fault(faults, &conf->client_address_at,
			"client-address needs trusted-proxies = {\"ADDRESS\"}");
	for (unsigned i = 0; i < conf->nlistens; i++) {
		const struct conf_listen *l = &conf->listens[i];

		if (!l->proxy_protocol)
			continue;
		if (trusted->n == 0)
			conf_fault(faults, &l->proxy_protocol_at,
				"proxy-protocol = true needs trusted-proxies = {\"ADDRESS\"}");
		else if (l->address != NULL && strncmp(l->address, "unix:", 5) == 0 &&
			 !conf_list_has(trusted, "unix"))
			conf_fault(faults, &l->proxy_protocol_at,
				"proxy-protocol = true on a unix: listener needs \"unix\" in "
				"trusted-proxies");
	}
}

static void check_absolute(const struct conf_list *paths, const char *key,
	const struct conf_pos *at, struct conf_faults *faults)
{
	for (unsigned i = 0; i < paths->n; i++)
		if (paths->v[i][0] != '/')
			conf_fault(faults, at, "%s: \"%.200s\" is not absolute", key, paths->v[i]);
}

void conf_check(struct conf *conf, struct conf_faults *faults)
{
	check_balance(conf, faults);
	conf_path_folder(conf, "pid-file", conf->pid_file, &conf->pid_file_at, faults);
	conf_check_logs(conf, faults);
	conf_check_id(conf, faults);
	check_absolute(&conf->sandbox.read, "read", &conf->sandbox.read_at, faults);
	check_absolute(&conf->sandbox.write, "write", &conf->sandbox.write_at, faults);
	conf_handlers_check(conf, faults);
	check_listens(conf, faults);
	check_redirects(conf, faults);
	check_proxies(conf, faults);
	check_tls(conf, faults);
	conf_check_servers(conf, faults);
}
