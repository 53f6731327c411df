/*
 * sites: makes a struct site of each server block and a struct location of each location, which
 * inherits here what it does not set. The master calls it while it builds a generation, and so
 * does -t; it never opens a file and never changes the configuration.
 */
#include "server/sites.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/conf_fault.h"
#include "request/access.h"
#include "request/auth_queue.h"

struct maker {
	struct arena *a;
	conf_fault_fn *fault;
	void *ctx;
	unsigned faults;
	bool oom;
};

/* What decides about key: the location if it sets it, else the server. l may be NULL. */
#define IN_EFFECT(s, l, key) \
	((l) != NULL && (l)->scope.key##_at.file != NULL ? &(l)->scope : &(s)->scope)

static void fault(struct maker *m, const struct conf_pos *pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

static void fault(struct maker *m, const struct conf_pos *pos, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	m->faults++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->fault(m->ctx, pos, text);
}

/* Room for n things of size, at least for one; never NULL before the memory is out. */
static void *room(struct maker *m, size_t n, size_t size)
{
	void *p = arena_zalloc(m->a, (n + 1) * size);

	m->oom |= p == NULL;
	return p;
}

static struct slice lower(struct maker *m, struct slice s)
{
	char *p = room(m, s.n, 1);

	for (size_t i = 0; p != NULL && i < s.n; i++)
		p[i] = (char)tolower((unsigned char)s.p[i]);
	return slice_of(p, p != NULL ? s.n : 0);
}

/* --- add-header ------------------------------------------------------------------------------- */

/* Fields that h2d writes itself, so that a second one could contradict it. */
static const char *const own_fields[] = { "accept-ranges", "allow", "connection",
	"content-encoding", "content-length", "content-range", "content-type", "date", "etag",
	"keep-alive", "last-modified", "location", "proxy-connection", "server", "te", "trailer",
	"transfer-encoding", "upgrade", "www-authenticate" };

static bool is_own(struct slice name)
{
	for (unsigned i = 0; i < sizeof(own_fields) / sizeof(own_fields[0]); i++)
		if (slice_eq(name, slice_str(own_fields[i])))
			return true;
	return false;
}

static struct slice trim(struct slice s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = slice_of(s.p + 1, s.n - 1);
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* "name: value" as a field; NULL, or what is wrong with it. */
static const char *field(struct maker *m, const char *text, struct field *out)
{
	const char *colon = strchr(text, ':');

	if (colon == NULL)
		return "it is written \"name: value\"";
	out->name = lower(m, slice_of(text, (size_t)(colon - text)));
	out->value = trim(slice_str(colon + 1));
	if (m->oom)
		return NULL;
	if (!field_name_valid(out->name))
		return "what stands before the colon is not the name of a field";
	if (!field_value_valid(out->value))
		return "what stands behind the colon cannot be the value of a field";
	if (slice_eq(out->name, SLICE("cache-control")))
		return "use the key cache-control";
	if (slice_eq(out->name, SLICE("strict-transport-security")))
		return "use the key strict-transport-security of the server, which never sends it "
		       "in cleartext";
	if (is_own(out->name))
		return "h2d sets this field itself";
	return NULL;
}

/* Those of outer come first; NULL in the location that stands for the server. */
static void set_headers(struct maker *m, struct location *location, const struct location *outer,
	const struct conf_list *list, const struct conf_pos *at)
{
	unsigned inherited = outer != NULL ? outer->nheaders : 0;
	struct field *v = room(m, inherited + list->n, sizeof(*v));

	if (v == NULL)
		return;
	if (inherited > 0)
		memcpy(v, outer->headers, inherited * sizeof(*v));
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = field(m, list->v[i], &v[inherited + i]);

		if (why != NULL)
			fault(m, at, "add-header \"%.200s\": %s", list->v[i], why);
	}
	location->headers = v;
	location->nheaders = inherited + list->n;
	/* Said where they become too many, and only there. */
	if (location->nheaders > SITE_HEADERS_MAX && inherited <= SITE_HEADERS_MAX)
		fault(m, at,
			"add-header: %u fields are in effect here; the most there can be is %d",
			location->nheaders, SITE_HEADERS_MAX);
}

/* --- who may ask ------------------------------------------------------------------------------ */

static void add_rules(struct maker *m, struct access_rule *v, const struct conf_list *list,
	bool allow, const struct conf_pos *at)
{
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = access_parse(list->v[i], &v[i]);

		v[i].allow = allow;
		/* at is NULL: said where the list stands. */
		if (why != NULL && at != NULL)
			fault(m, at, "%s \"%.200s\": %s", allow ? "allow" : "deny", list->v[i],
				why);
	}
}

static void set_access(struct maker *m, struct location *location, const struct conf_server *s,
	const struct conf_location *l)
{
	const struct conf_scope *allow = IN_EFFECT(s, l, allow), *deny = IN_EFFECT(s, l, deny);
	const struct conf_scope *own = l != NULL ? &l->scope : &s->scope;
	unsigned n = allow->allow.n + deny->deny.n;
	struct access_rule *v = room(m, n, sizeof(*v));
	struct access *access = room(m, 1, sizeof(*access));

	if (m->oom || n == 0)
		return;
	add_rules(m, v, &allow->allow, true, allow == own ? &own->allow_at : NULL);
	add_rules(m, v + allow->allow.n, &deny->deny, false, deny == own ? &own->deny_at : NULL);
	*access = (struct access){ .rules = v, .n = n };
	location->access = access;
}

static void set_auth(struct maker *m, struct location *location, const struct conf_server *s,
	const struct conf_location *l)
{
	const char *file = IN_EFFECT(s, l, auth_basic_file)->auth_basic_file;
	const struct conf_scope *realm = IN_EFFECT(s, l, auth_basic_realm);
	struct auth *auth = room(m, 1, sizeof(*auth));

	/* RFC 9110, 11.5: it becomes a quoted string, as it is. */
	if ((realm == &s->scope) == (l == NULL) &&
		(!field_value_valid(slice_str(realm->auth_basic_realm)) ||
			strpbrk(realm->auth_basic_realm, "\"\\") != NULL))
		fault(m, &realm->auth_basic_realm_at,
			"auth-basic-realm \"%.200s\" holds white space at an end, quotes or "
			"backslashes",
			realm->auth_basic_realm);
	if (auth == NULL || *file == '\0')
		return;
	*auth = (struct auth){ .file = file, .realm = slice_str(realm->auth_basic_realm) };
	location->auth = auth;
}

/* It must be said who may write; who may not is not enough. */
static bool has_writers(const struct location *location, const struct conf_server *s)
{
	bool any = s->upload_public || location->auth != NULL;

	for (unsigned i = 0; location->access != NULL && i < location->access->n; i++)
		any |= location->access->rules[i].allow;
	return any;
}

/* --- locations -------------------------------------------------------------------------------- */

static const struct slice *slices(struct maker *m, const struct conf_list *list)
{
	struct slice *v = room(m, list->n, sizeof(*v));

	for (unsigned i = 0; v != NULL && i < list->n; i++)
		v[i] = slice_str(list->v[i]);
	return v;
}

/* Which files may answer for a path. */
static void set_names(struct maker *m, struct location *location, const struct conf_server *s,
	const struct conf_location *l)
{
	const struct conf_scope *index = IN_EFFECT(s, l, index);
	const struct conf_scope *extensions = IN_EFFECT(s, l, extensions);

	location->index = slices(m, &index->index);
	location->nindex = index->index.n;
	location->extensions = slices(m, &extensions->extensions);
	location->nextensions = extensions->extensions.n;
	location->extensions_redirect = IN_EFFECT(s, l, extensions_redirect)->extensions_redirect;
	location->fallback = slice_str(IN_EFFECT(s, l, fallback)->fallback);
}

static void set_redirect(
	struct location *location, const struct conf_server *s, const struct conf_location *l)
{
	static const int statuses[] = { 301, 302, 307,
		308 }; /* as the choices of redirect-status */
	const struct conf_scope *from = IN_EFFECT(s, l, redirect);

	const struct conf_scope *keep = IN_EFFECT(s, l, redirect_keep_path);

	location->redirect = slice_str(from->redirect);
	location->redirect_keeps = keep->redirect_keep_path;
	if (keep->redirect_keep_path_at.file == NULL && location->redirect.n > 0)
		location->redirect_keeps = location->redirect.p[location->redirect.n - 1] == '/';
	location->redirect_prefix = from == &s->scope ? SLICE("/") : location->prefix;
	location->redirect_status = statuses[IN_EFFECT(s, l, redirect_status)->redirect_status];
}

static void check_value(
	struct maker *m, const char *key, const char *value, const struct conf_pos *at)
{
	if (!field_value_valid(slice_str(value)))
		fault(m, at, "%s \"%.200s\" cannot be the value of a field", key, value);
}

/* The settings of location with those of files on top. */
static void make_rule(struct maker *m, struct file_rule *rule, const struct location *location,
	const struct conf_files *files)
{
	rule->pattern = slice_str(files->pattern);
	rule->settings = *location;
	check_value(m, "cache-control", files->cache_control, &files->cache_control_at);
	if (files->cache_control_at.file != NULL)
		rule->settings.cache_control = slice_str(files->cache_control);
	set_headers(m, &rule->settings, location, &files->add_header, &files->add_header_at);
}

/* Its own rules first, then those of the server; l NULL: it is the location of the server. */
static void set_rules(struct maker *m, struct location *location, const struct conf_server *s,
	const struct conf_location *l)
{
	unsigned own = l != NULL ? l->nfiles : 0, faults = m->faults;
	struct file_rule *v = room(m, own + s->nfiles, sizeof(*v));

	if (v == NULL)
		return;
	for (unsigned i = 0; i < own; i++)
		make_rule(m, &v[i], location, &l->files[i]);
	/* Said already, of the server. */
	for (unsigned i = 0; faults == 0 && i < s->nfiles; i++)
		make_rule(m, &v[own + i], location, &s->files[i]);
	location->rules = v;
	location->nrules = own + s->nfiles;
}

/* The settings of s, or those of l on top of them; then outer is the location of s. */
static void make_location(struct maker *m, struct location *location, const struct location *outer,
	const struct conf_server *s, const struct conf_location *l)
{
	const struct conf_scope *own = l != NULL ? &l->scope : &s->scope;

	location->prefix = l != NULL ? slice_str(l->prefix) : SLICE("/");
	location->cache_control = slice_str(IN_EFFECT(s, l, cache_control)->cache_control);
	check_value(m, "cache-control", own->cache_control, &own->cache_control_at);
	location->charset = slice_str(IN_EFFECT(s, l, charset)->charset);
	location->autoindex = IN_EFFECT(s, l, autoindex)->autoindex;
	set_names(m, location, s, l);
	set_redirect(location, s, l);
	set_headers(m, location, outer, &own->add_header, &own->add_header_at);
	set_access(m, location, s, l);
	set_auth(m, location, s, l);
	location->writers = has_writers(location, s);
	set_rules(m, location, s, l);
}

/* Longest prefix first. */
static int location_order(const void *a, const void *b)
{
	const struct location *x = a, *y = b;

	return (x->prefix.n < y->prefix.n) - (x->prefix.n > y->prefix.n);
}

static void set_locations(
	struct maker *m, struct site *site, const struct conf_server *s, const unsigned *roots)
{
	struct location *v = room(m, s->nlocations, sizeof(*v));

	if (v == NULL)
		return;
	for (unsigned i = 0; i < s->nlocations && !m->oom; i++) {
		v[i].root = roots[i];
		make_location(m, &v[i], &site->all, s, &s->locations[i]);
	}
	qsort(v, s->nlocations, sizeof(*v), location_order);
	site->locations = v;
	site->nlocations = s->nlocations;
	site->guarded = site->all.access != NULL || site->all.auth != NULL;
	for (unsigned i = 0; i < site->nlocations; i++)
		site->guarded |= v[i].access != NULL || v[i].auth != NULL;
}

/* --- sites ------------------------------------------------------------------------------------ */

/* "files/" and "files" are both "/files". */
static void set_uploads(struct maker *m, struct site *site, struct slice dir)
{
	char *p;

	while (dir.n > 0 && dir.p[dir.n - 1] == '/')
		dir.n--;
	if (dir.n == 0)
		return;
	p = arena_printf(m->a, "/%.*s", SLICE_ARG(dir));
	m->oom |= p == NULL;
	site->uploads = slice_str(p);
}

static void set_error_pages(struct maker *m, struct site *site, const struct conf_server *s)
{
	struct site_error_page *v = room(m, s->nerror_pages, sizeof(*v));

	for (unsigned i = 0; v != NULL && i < s->nerror_pages; i++)
		v[i] = (struct site_error_page){
			.status = atoi(s->error_pages[i].status),
			.file = slice_str(s->error_pages[i].file),
		};
	site->error_pages = v;
	site->nerror_pages = s->nerror_pages;
}

static void make_site(
	struct maker *m, struct site *site, const struct conf_server *s, const unsigned *roots)
{
	site->name = slice_str(s->name);
	site->all.root = site->root;
	make_location(m, &site->all, NULL, s, NULL);
	set_locations(m, site, s, roots);
	set_error_pages(m, site, s);
	set_uploads(m, site, slice_str(s->upload_dir));
	site->upload_overwrite = s->upload_overwrite;
	site->upload_status = s->upload_status == 0 ? 201 : 200;
	site->upload_quota = s->upload_quota;
	site->upload_expires = s->upload_expires;
	site->health = slice_str(s->health);
	site->transport_security = slice_str(s->strict_transport_security);
	check_value(m, "strict-transport-security", s->strict_transport_security,
		&s->strict_transport_security_at);
}

/* Titles are names too, but for that of the server that needs none. Sorted, each once. */
static void set_server_names(struct maker *m, struct sites *sites, const struct conf *conf)
{
	struct site_name *v;
	size_t max = conf->nservers;
	unsigned n = 0;

	for (unsigned i = 0; i < conf->nservers; i++)
		max += conf->servers[i].server_name.n;
	v = room(m, max, sizeof(*v));
	if (v == NULL)
		return;
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];

		if (strcmp(s->name, "_") != 0)
			v[n++] = (struct site_name){ lower(m, slice_str(s->name)), i };
		for (unsigned j = 0; j < s->server_name.n; j++)
			v[n++] = (struct site_name){ lower(m, slice_str(s->server_name.v[j])), i };
	}
	qsort(v, n, sizeof(*v), site_name_order);
	for (unsigned i = 0; i < n; i++)
		if (sites->nnames == 0 || site_name_order(&v[i], &v[sites->nnames - 1]) != 0)
			v[sites->nnames++] = v[i];
	sites->names = v;
}

const struct sites *sites_make(const struct conf *conf, const struct trees *trees,
	const void *const *certificates, struct arena *a, conf_fault_fn *fault_fn, void *ctx)
{
	struct maker m = { .a = a, .fault = fault_fn, .ctx = ctx };
	struct sites *sites = room(&m, 1, sizeof(*sites));
	struct site *v = room(&m, conf->nservers, sizeof(*v));

	for (unsigned i = 0; i < conf->nservers && !m.oom; i++) {
		v[i].root = trees->of_server[i];
		v[i].has_root = conf->servers[i].root[0] != '\0';
		v[i].is_default = i == conf_default_server(conf);
		v[i].certificate = certificates != NULL ? certificates[i] : NULL;
		make_site(&m, &v[i], &conf->servers[i], trees->of_location[i]);
	}
	if (!m.oom) {
		sites->v = v;
		sites->n = conf->nservers;
		sites->fallback = conf_default_server(conf);
		set_server_names(&m, sites, conf);
	}
	if (m.oom)
		fault(&m, &conf_command_line, "out of memory");
	return m.faults == 0 ? sites : NULL;
}
