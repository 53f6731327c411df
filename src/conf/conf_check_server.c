/*
 * conf_check_server: the checks of server blocks. Called once per conf; gives each its inherited
 * settings, and otherwise changes only refused values, which become NULL; never binds.
 */
#include "conf/conf_check.h"

#include <sys/stat.h>

#include "base/slice.h"
#include "conf/conf_path.h"
#include "conf/conf_table.h"

static void check_upload_dir(
	struct conf *conf, const struct conf_server *s, unsigned i, struct conf_faults *faults)
{
	const struct conf_pos *pos;
	const char *dir = conf_upload_dir(s, i, &pos);
	struct slice rest = slice_str(dir);
	struct stat st;
	char *path;

	if (dir == NULL || *dir == '\0')
		return;
	if (*dir == '/') {
		conf_fault(faults, pos, "upload-dir \"%.200s\" must be relative to root", dir);
		return;
	}
	while (rest.n > 0) {
		size_t n = strcspn(rest.p, "/");

		/* Paths of requests have neither: they would not be recognised as uploads. */
		bool dots =
			(n == 1 && rest.p[0] == '.') || (n == 2 && memcmp(rest.p, "..", 2) == 0);
		size_t slashes = strspn(rest.p + n, "/");

		if (dots || (slashes > 1 && n + slashes < rest.n)) {
			conf_fault(faults, pos, "upload-dir \"%.200s\" must not contain \"%.*s\"",
				dir, dots ? (int)n : 2, dots ? rest.p : "//");
			return;
		}
		n += slashes;
		rest = slice_of(rest.p + n, rest.n - n);
	}
	if (s->root == NULL || *s->root == '\0')
		return;
	path = arena_printf(&conf->arena, "%s/%s", s->root, dir);
	if (path == NULL)
		conf_fault_oom(faults, pos);
	else if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		conf_fault(faults, pos, "upload-dir \"%s\" is not a directory", path);
}

/* True for a target: it becomes a location header unchanged, perhaps with more path appended. */
bool conf_check_server_target(const char *s)
{
	const char *host = NULL;

	for (const char *p = s; *p != '\0'; p++)
		if (*p < '!' || *p > '~' || strchr("\"<>\\^`{|}", *p) != NULL)
			return false;
	if (strncmp(s, "https://", 8) == 0)
		host = s + 8;
	else if (strncmp(s, "http://", 7) == 0)
		host = s + 7;
	if (host != NULL)
		return *host != '\0' && strchr("/?#:", *host) == NULL;
	return s[0] == '/' && s[1] != '/';
}

static bool has_public_listen(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nlistens; i++)
		if (!conf_listen_is_own(&conf->listens[i]))
			return true;
	return false;
}

/* The redirect of a path. */
static const char *redirects(const struct conf_server *s, const char *path)
{
	const struct conf_location *l = conf_location_of(s, path);

	return l != NULL ? l->scope.redirect : s->scope.redirect;
}

static void check_redirect(
	const struct conf_server *s, const struct conf_scope *p, struct conf_faults *faults)
{
	const char *variable;

	if (p->redirect == NULL || *p->redirect == '\0')
		return;
	variable = strchr(p->redirect, '$');
	if (!conf_check_server_target(p->redirect))
		conf_fault(faults, &p->redirect_at,
			"redirect \"%.200s\" is neither a path nor a URL (https://...)%s",
			p->redirect,
			strchr(p->redirect, ' ') != NULL ? ": set the status in redirect-status"
							 : "");
	else if (variable != NULL)
		conf_fault(faults, &p->redirect_at,
			"redirect \"%.200s\" must not contain %.40s: end it in \"/\" to append the "
			"rest of the path and the query (write \"$\" as %%24)",
			p->redirect, variable);
	else if (p->redirect_keep_path == KEEP_YES && strpbrk(p->redirect, "?#") != NULL)
		conf_fault(faults, &p->redirect_keep_path_at,
			"redirect \"%.200s\" contains a \"?\" or \"#\": nothing can be appended",
			p->redirect);
	else if (p->redirect[0] == '/' && redirects(s, p->redirect) == p->redirect)
		conf_fault(faults, &p->redirect_at, "redirect \"%.200s\" leads to itself",
			p->redirect);
}

bool conf_check_server_path(const char *s)
{
	const char *p = s;

	if (*p != '/')
		return false;
	while (*p == '/') {
		size_t n = strcspn(++p, "/");

		if ((n == 0 && *p == '/') || (n == 1 && p[0] == '.') ||
			(n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
	}
	return true;
}

/* True for a request's path, but not a directory's. */
static bool is_file_path(const char *s)
{
	return conf_check_server_path(s) && s[1] != '\0' && s[strlen(s) - 1] != '/';
}

/* like: a path as the key takes it. NULL was reported, and "" is none. */
static void check_file_path(const char *key, const char *path, const struct conf_pos *at,
	const char *like, struct conf_faults *faults)
{
	if (path != NULL && *path != '\0' && !is_file_path(path))
		conf_fault(faults, at, "%s \"%.200s\" is not a file path below root such as \"%s\"",
			key, path, like);
}

/* Boolean words are no encodings beside others. */
static void check_compress(const char *key, const struct conf_list *list, const struct conf_pos *at,
	struct conf_faults *faults)
{
	for (unsigned i = 0; list->n > 1 && i < list->n; i++)
		if (conf_is_word(list->v[i], true) || conf_is_word(list->v[i], false))
			conf_fault(faults, at, "%s: write %s alone", key, list->v[i]);
}

static void check_scope(struct conf_scope *p, struct conf_faults *faults)
{
#ifndef HAVE_EXPAT
	if (p->webdav)
		conf_fault(faults, &p->webdav_at, "webdav: this h2d is built without expat");
#endif
	check_compress("compress", &p->compress, &p->compress_at, faults);
	check_compress(
		"compress-responses", &p->compress_responses, &p->compress_responses_at, faults);
	for (unsigned i = 0; p->index.v != NULL && i < p->index.n; i++) {
		const char *name = p->index.v[i];

		if (*name == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
			strcmp(name, "..") == 0)
			conf_fault(
				faults, &p->index_at, "index: \"%.200s\" is not a file name", name);
	}
	for (unsigned i = 0; p->hide.v != NULL && i < p->hide.n; i++)
		if (*p->hide.v[i] == '\0' || strchr(p->hide.v[i], '/') != NULL)
			conf_fault(faults, &p->hide_at,
				"hide: \"%.200s\" must be a file name such as \"*.bak\", without a "
				"path",
				p->hide.v[i]);
	for (unsigned i = 0; p->extensions.v != NULL && i < p->extensions.n; i++)
		if (p->extensions.v[i][0] != '.' || strchr(p->extensions.v[i], '/') != NULL ||
			slice_ends(slice_str(p->extensions.v[i]), SLICE(".")))
			conf_fault(faults, &p->extensions_at,
				"extensions: \"%.200s\" must look like \".html\"",
				p->extensions.v[i]);
	check_file_path("fallback", p->fallback, &p->fallback_at, "/index.html", faults);
	check_file_path("return-page", p->return_page, &p->return_page_at, "/soon.html", faults);
	/* RFC 9110, 8.3.2: charset is a token; it is used unchanged in content-type. */
	if (p->charset != NULL &&
		p->charset[strspn(p->charset, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
					      "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] != '\0')
		conf_fault(faults, &p->charset_at,
			"charset \"%.200s\": write a word like \"utf-8\"", p->charset);
	conf_path_readable("auth-basic-file", &p->auth_basic_file, &p->auth_basic_file_at, faults);
}

/* Reports the i-th section of owner if an earlier one has the same title. */
static void check_twice(enum conf_section_id id, const void *owner, unsigned i,
	int (*compare)(const char *, const char *), struct conf_faults *faults)
{
	const struct conf_section *s = &conf_sections[id];
	const char *own = conf_table_peek(owner, s, i);
	const char *title = *(char *const *)(const void *)own;

	for (unsigned j = 0; j < i; j++) {
		const char *other = conf_table_peek(owner, s, j);
		const char *name = *(char *const *)(const void *)other;
		const struct conf_pos *at = (const void *)(other + s->at);

		if (name == NULL || compare(title, name) != 0)
			continue;
		conf_fault(faults, (const void *)(own + s->at),
			"duplicate %s \"%.200s\" (first at %s:%u)", s->name, title, at->file,
			at->line);
		return;
	}
}

/* Checks the sections files of owner, a server or a location. */
static void check_files(enum conf_section_id id, const void *owner, struct conf_faults *faults)
{
	const struct conf_section *s = &conf_sections[id];

	for (unsigned i = 0; i < conf_table_count(owner, s); i++) {
		const struct conf_files *files = conf_table_peek(owner, s, i);
		const char *pattern = files->pattern;

		if (pattern == NULL)
			continue;
		if (*pattern == '\0' || strchr(pattern, '/') != NULL)
			conf_fault(faults, &files->at,
				"files \"%.200s\" must be a file name such as \"*.woff2\", without "
				"a path",
				pattern);
		check_twice(id, owner, i, strcasecmp, faults);
	}
}

/* The routes of /files store, too, without a check of the writer. */
static bool has_files(const char *prefix)
{
	return strcmp(prefix, "/") == 0 ||
	       (strncmp(prefix, "/files", 6) == 0 && (prefix[6] == '\0' || prefix[6] == '/'));
}

static void check_store_folder(
	const struct conf_server *s, struct conf_location *l, struct conf_faults *faults)
{
	const char *folder = l->store_folder, *why = NULL;

	if (folder == NULL || *folder == '\0')
		return;
	if (s->upload_dir == NULL || *s->upload_dir == '\0')
		why = "upload-dir is missing";
	else if (folder[strspn(folder, "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] != '\0')
		why = "write one directory name of letters, digits, - and _";
	else if (l->prefix != NULL && has_files(l->prefix))
		why = "all clients could write to it through /files in this location";
	if (why != NULL)
		conf_fault(faults, &l->store_folder_at, "store-folder \"%.200s\": %s", folder, why);
}

/* A location's files are below the server's root, where the routes and the listing find them. */
static void check_location_upload(const struct conf_location *l, struct conf_faults *faults)
{
	const char *why = NULL;

	if (l->upload_dir == NULL || *l->upload_dir == '\0')
		return;
	if (l->root != NULL && *l->root != '\0')
		why = "a location with a root of its own has none";
	else if (l->store_folder != NULL && *l->store_folder != '\0')
		why = "all clients could write to store-folder through it";
	else if (l->prefix != NULL && strcmp(l->prefix, "/") == 0)
		why = "write it in the server, for /files";
	if (why != NULL)
		conf_fault(
			faults, &l->upload_dir_at, "upload-dir \"%.200s\": %s", l->upload_dir, why);
}

static void check_error_pages(
	enum conf_section_id id, const void *owner, struct conf_faults *faults)
{
	for (unsigned i = 0; i < conf_table_count(owner, &conf_sections[id]); i++) {
		const struct conf_error_page *e = conf_table_peek(owner, &conf_sections[id], i);

		if (e->file != NULL && *e->file == '\0') {
			if (!faults->lost)
				conf_fault(faults, e->file_at.file != NULL ? &e->file_at : &e->at,
					"error-page needs a file = \"/PATH\"");
		}
		check_file_path("file", e->file, &e->file_at, "/404.html", faults);
		if (e->status == NULL)
			continue;
		if (strchr("45", e->status[0]) == NULL || strspn(e->status, "0123456789") != 3 ||
			e->status[3] != '\0')
			conf_fault(faults, &e->at,
				"error-page \"%.200s\": the status must be from 400 to 599",
				e->status);
		check_twice(id, owner, i, strcmp, faults);
	}
}

static void check_locations(struct conf_server *s, struct conf_faults *faults)
{
	for (unsigned i = 0; i < s->nlocations; i++) {
		struct conf_location *l = &s->locations[i];

		check_redirect(s, &l->scope, faults);
		check_files(CONF_SECTION_LOCATION_FILES, l, faults);
		if (l->root != NULL && *l->root != '\0')
			conf_path_directory("root", l->root, &l->root_at, faults);
		check_store_folder(s, l, faults);
		check_location_upload(l, faults);
		check_error_pages(CONF_SECTION_LOCATION_ERROR_PAGE, l, faults);
		if (l->prefix == NULL)
			continue;
		if (strchr(l->prefix, '*') != NULL)
			conf_fault(faults, &l->at,
				"location \"%.200s\" must not contain wildcards: match file names "
				"in a section files \"*.EXTENSION\" { ... }",
				l->prefix);
		else if (!conf_check_server_path(l->prefix))
			conf_fault(faults, &l->at,
				"location \"%.200s\" is not a path: write \"/PATH\" or \"/PATH/\"",
				l->prefix);
		check_twice(CONF_SECTION_LOCATION, s, i, strcmp, faults);
	}
}

/* True if an application, and no file, answers for some location. */
static bool is_proxied(const struct conf_server *s)
{
	bool any = false;

	for (unsigned i = 0; i <= s->nlocations; i++)
		any |= conf_scope(s, i)->proxy.n > 0 &&
		       conf_scope(s, i)->proxy_after != PROXY_AFTER_FILES;
	return any;
}

static void check_root(struct conf *conf, const struct conf_server *s, struct conf_faults *faults)
{
	struct conf_pos pos =
		conf->path != NULL ? (struct conf_pos){ .file = conf->path } : conf_command_line;

	if (s->root == NULL)
		return;
	if (*s->root != '\0') {
		conf_path_directory("root", s->root, &s->root_at, faults);
		return;
	}
	/* A server that redirects, refuses, is a proxy, or has no listener, needs none. */
	if (faults->lost || !has_public_listen(conf) || s->scope.redirect == NULL ||
		*s->scope.redirect != '\0' || s->scope.returned != 0 || is_proxied(s))
		return;
	conf_fault(faults, s->at.file != NULL ? &s->at : &pos,
		"root is missing: write server \"%.200s\" { root = \"DIR\" }%s",
		s->name != NULL ? s->name : "_",
		s == &conf->servers[conf_default_server(conf)] ? ", or -r DIR" : "");
}

/* Each key is checked in its section, then inherited by all inner ones. */
static void inherit(struct conf *conf, struct conf_server *s, struct conf_faults *faults)
{
	const struct conf_section *of = &conf_sections[CONF_SECTION_SERVER];

	check_scope(&s->scope, faults);
	for (unsigned i = 0; i < s->nlocations; i++)
		check_scope(&s->locations[i].scope, faults);
	conf_table_inherit(s, of, conf, &conf_sections[CONF_SECTION_GLOBAL]);
	conf_table_inherit(s, of, &conf->limits, &conf_sections[CONF_SECTION_LIMITS]);
	conf_table_inherit(s, of, &conf->cache, &conf_sections[CONF_SECTION_CACHE]);
	for (unsigned i = 0; i < s->nlocations; i++)
		conf_table_inherit(&s->locations[i], &conf_sections[CONF_SECTION_LOCATION], s, of);
}

static void check_origins(const struct conf_server *s, struct conf_faults *faults)
{
	for (unsigned i = 0; s->upload_origins.v != NULL && i < s->upload_origins.n; i++) {
		struct slice rest = slice_str(s->upload_origins.v[i]), scheme;

		if (!slice_cut(&rest, ':', &scheme) ||
			(!slice_eq(scheme, SLICE("http")) && !slice_eq(scheme, SLICE("https"))) ||
			!slice_starts(rest, SLICE("//")) || rest.n == 2 ||
			strpbrk(rest.p + 2, "/?#@ ") != NULL)
			conf_fault(faults, &s->upload_origins_at,
				"upload-origins: \"%.200s\" must look like \"https://example.com\"",
				s->upload_origins.v[i]);
	}
}

void conf_check_servers(struct conf *conf, struct conf_faults *faults)
{
	check_scope(&conf->scope, faults);
	check_compress("compress", &conf->cache.compress, &conf->cache.compress_at, faults);
	for (unsigned i = 0; i < conf->nservers; i++) {
		struct conf_server *s = &conf->servers[i];

		inherit(conf, s, faults);
		conf_path_readable(
			"redirect-file", &s->redirect_file, &s->redirect_file_at, faults);
		check_root(conf, s, faults);
		check_redirect(s, &s->scope, faults);
		for (unsigned j = 0; j <= s->nlocations; j++)
			check_upload_dir(conf, s, j, faults);
		check_origins(s, faults);
		if (s->health != NULL && *s->health != '\0' && !is_file_path(s->health))
			conf_fault(faults, &s->health_at,
				"health \"%.200s\" is not a path like \"/healthz\"", s->health);
		if (s->strict_transport_security != NULL && *s->strict_transport_security != '\0' &&
			strcasestr(s->strict_transport_security, "max-age=") == NULL)
			conf_fault(faults, &s->strict_transport_security_at,
				"strict-transport-security \"%.200s\" has no max-age=SECONDS",
				s->strict_transport_security);
		check_files(CONF_SECTION_SERVER_FILES, s, faults);
		check_error_pages(CONF_SECTION_ERROR_PAGE, s, faults);
		check_locations(s, faults);
	}
	conf_check_names(conf, faults);
}
