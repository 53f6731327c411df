/*
 * conf_hosts: lists the directory before ${host} and copies the server for each host name in it
 * that no other server has. Called by conf_load; opens no file.
 */
#include "conf/conf_hosts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/name_map.h"
#include "conf/conf_check.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"

struct hosts {
	struct conf *conf;
	struct conf_faults *faults;
	struct name_map taken; /* by servers */
};

/* A root: its parts before and after ${host}. */
struct pattern {
	const char *head, *tail;
};

/* False: memory is out. */
static bool host_take(struct hosts *h, const char *name)
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

		if (s->name != NULL && !host_take(h, s->name))
			conf_fault_oom(h->faults, &s->at);
		for (unsigned j = 0; j < s->aliases.n; j++)
			if (!host_take(h, s->aliases.v[j]))
				conf_fault_oom(h->faults, &s->at);
	}
}

/* True if a server of that name, perhaps "_" or a wildcard, answers host. */
static bool host_covers(const char *name, const char *host)
{
	size_t n = strlen(name), all = strlen(host);

	if (strcmp(name, "_") == 0)
		return true;
	return name[0] == '*' && all >= n && strcasecmp(host + all - (n - 1), name + 1) == 0;
}

static bool answers(const struct conf_server *s, const char *host)
{
	bool any = s->name != NULL && host_covers(s->name, host);

	for (unsigned i = 0; i < s->aliases.n; i++)
		any |= host_covers(s->aliases.v[i], host);
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

/* A copy of text with host in it; NULL: memory is out. */
static char *put_host(struct arena *arena, const char *text, const char *host)
{
	char *made = arena_strdup(arena, text);
	const char *at;

	while (made != NULL && (at = strstr(made, CONF_HOST)) != NULL)
		made = arena_printf(
			arena, "%.*s%s%s", (int)(at - made), made, host, at + strlen(CONF_HOST));
	return made;
}

static bool names_host(const char *text)
{
	return text != NULL && strstr(text, CONF_HOST) != NULL;
}

static bool has_host(const struct conf_list *list)
{
	for (unsigned i = 0; i < list->n; i++)
		if (names_host(list->v[i]))
			return true;
	return false;
}

static bool has_certificates(const struct conf_server *s)
{
	return has_host(&s->tls.pairs.certificate) || has_host(&s->tls.pairs.certificate_key);
}

/* Each of the list with host in it. False: one is missing, or memory is out. */
static bool put_hosts(struct hosts *h, struct conf_list *list, const char *host)
{
	struct arena *arena = &h->conf->arena;
	char **v = arena_alloc(arena, (list->n + 1) * sizeof(*v));
	struct stat st;

	for (unsigned i = 0; i < list->n; i++) {
		if (v == NULL || (v[i] = put_host(arena, list->v[i], host)) == NULL)
			return false;
		if (stat(v[i], &st) < 0)
			return false;
	}
	list->v = v;
	return v != NULL;
}

/* Handshakes use the certificate of the top level. */
static void clear_certificates(struct conf_server *s)
{
	struct conf_pairs *p = &s->tls.pairs;

	p->certificate = p->certificate_key = p->stapling_file =
		(struct conf_list){ .v = p->certificate.v };
}

/* The other keys of a host. */
static void put_keys(struct hosts *h, struct conf_server *s, const char *host)
{
	if (names_host(s->log.access_log)) {
		s->log.access_log = put_host(&h->conf->arena, s->log.access_log, host);
		if (s->log.access_log == NULL)
			conf_fault_oom(h->faults, &s->log.access_log_at);
	}
	/* A new host may get its certificate later than its directory. */
	if (has_certificates(s) && (!put_hosts(h, &s->tls.pairs.certificate, host) ||
					   !put_hosts(h, &s->tls.pairs.certificate_key, host)))
		clear_certificates(s);
}

/* Adds a server as the of-th one, for host and its directory. */
static void host_add(struct hosts *h, unsigned of, const char *host, char *root)
{
	struct conf *conf = h->conf;
	char *name = arena_strdup(&conf->arena, host);
	struct conf_server *s =
		conf_table_add(&conf->arena, conf, &conf_sections[CONF_SECTION_SERVER]);

	if (name == NULL || s == NULL || !host_take(h, host)) {
		conf_fault_oom(h->faults, &conf->servers[of].root_at);
		return;
	}
	*s = conf->servers[of];
	s->name = name;
	s->aliases.n = 0;
	s->root = root;
	put_keys(h, s, host);
}

static void host_look(struct hosts *h, unsigned of, const struct pattern *p, const char *host)
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
		host_add(h, of, host, root);
}

/* False, after a fault: ${host} is not a whole directory name. */
static bool host_cut(struct hosts *h, const struct conf_server *s, struct pattern *p)
{
	const char *at = strstr(s->root, CONF_HOST);

	p->tail = at + strlen(CONF_HOST);
	p->head = arena_printf(&h->conf->arena, "%.*s", (int)(at - s->root), s->root);
	if (p->head == NULL)
		conf_fault_oom(h->faults, &s->root_at);
	else if (at > s->root && at[-1] == '/' && (*p->tail == '/' || *p->tail == '\0') &&
		 strstr(p->tail, CONF_HOST) == NULL)
		return true;
	else
		conf_fault(h->faults, &s->root_at,
			"root \"%.200s\": " CONF_HOST
			" must be a whole directory name, once: \"/srv/" CONF_HOST "/public\"",
			s->root);
	return false;
}

/* The server itself answers hosts without a directory with 404. */
static void expand(struct hosts *h, unsigned of)
{
	struct conf_server *s = &h->conf->servers[of];
	const struct conf_pos at = s->root_at;
	struct dirent **entries;
	struct pattern p;
	int n;

	if (!host_cut(h, s, &p)) {
		s->root = NULL;
		return;
	}
	n = scandir(p.head, &entries, NULL, alphasort);
	if (n < 0)
		conf_fault(h->faults, &at, "root \"%.200s\": %s", p.head, strerror(errno));
	for (int i = 0; i < n; i++) {
		host_look(h, of, &p, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	s = &h->conf->servers[of];
	s->root = conf_none;
	if (has_certificates(s))
		clear_certificates(s);
	if (names_host(s->log.access_log)) {
		s->log.access_log = h->conf->log.access_log;
		s->log.access_log_at.file = NULL;
	}
	if (s->scope.returned == 0) {
		s->scope.returned = 404;
		s->scope.returned_at = at;
	}
}

/* Reports ${host} elsewhere than in a root. */
static void check_alone(struct hosts *h, struct conf_server *s)
{
	bool log = names_host(s->log.access_log);

	if (!log && !has_certificates(s))
		return;
	conf_fault(h->faults, log ? &s->log.access_log_at : &s->tls.pairs.certificate_at,
		"%s: " CONF_HOST " needs a root that contains " CONF_HOST,
		log ? "access-log" : "certificate");
	if (log)
		s->log.access_log = NULL;
	else
		s->tls.pairs.certificate = s->tls.pairs.certificate_key = (struct conf_list){ 0 };
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Hashes the file or directory at text with host in it: its existence and type. */
static uint64_t host_look_at(uint64_t hash, const char *text, const char *host)
{
	struct arena a;
	struct stat st;
	char first[1024];
	const char *path;
	char is = 0;

	arena_init(&a, first, sizeof(first), SIZE_MAX);
	path = put_host(&a, text, host);
	if (path != NULL && stat(path, &st) == 0)
		is = (char)(1 + S_ISDIR(st.st_mode));
	hash = fnv_add(fnv_add(hash, path, path != NULL ? strlen(path) : 0), &is, 1);
	arena_fini(&a);
	return hash;
}

static uint64_t look_at_host(uint64_t hash, const struct conf_server *s, const char *host)
{
	const struct conf_list *lists[] = { &s->tls.pairs.certificate,
		&s->tls.pairs.certificate_key };

	hash = host_look_at(hash, s->root, host);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (unsigned j = 0; has_host(lists[i]) && j < lists[i]->n; j++)
			hash = host_look_at(hash, lists[i]->v[j], host);
	return hash;
}

uint64_t conf_hosts_look(const struct conf *conf)
{
	uint64_t hash = FNV_BEGIN;

	for (const struct conf_server *s = conf->patterns; s != conf->patterns + conf->npatterns;
		s++) {
		const char *end = strstr(s->root, CONF_HOST);
		struct dirent **entries;
		char *head = strndup(s->root, (size_t)(end - s->root));
		int n = head != NULL ? scandir(head, &entries, NULL, alphasort) : -1;

		for (int i = 0; i < n; i++) {
			if (is_host(entries[i]->d_name))
				hash = look_at_host(hash, s, entries[i]->d_name);
			free(entries[i]);
		}
		if (n >= 0)
			free(entries);
		free(head);
	}
	return hash;
}

/* Keeps them unchanged. */
static void keep_patterns(struct hosts *h, unsigned n)
{
	struct conf *conf = h->conf;
	struct conf_server *kept = arena_alloc(&conf->arena, n * sizeof(*kept));

	if (kept == NULL) {
		conf_fault_oom(h->faults, &conf_command_line);
		return;
	}
	for (unsigned i = 0; i < conf->nservers; i++)
		if (names_host(conf->servers[i].root))
			kept[conf->npatterns++] = conf->servers[i];
	conf->patterns = kept;
}

void conf_hosts_expand(struct conf *conf, struct conf_faults *faults)
{
	struct hosts h = { .conf = conf, .faults = faults };
	unsigned n = conf->nservers, patterns = 0;

	for (unsigned i = 0; i < n; i++)
		if (names_host(conf->servers[i].root))
			patterns++;
		else
			check_alone(&h, &conf->servers[i]);
	if (patterns > 0)
		keep_patterns(&h, patterns);
	/* Before one is used: later changes are seen the next time. */
	conf->hosts_seen = conf_hosts_look(conf);
	if (patterns == 0)
		return;
	take_names(&h);
	for (unsigned i = 0; i < n && !faults->oom; i++)
		if (names_host(conf->servers[i].root))
			expand(&h, i);
	name_map_fini(&h.taken);
}
