/* sandbox_paths: walks the configuration, and the symbolic links of paths in it; opens no file. */
#include "sandbox/sandbox_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/name_map.h"
#include "conf/conf_handlers.h"
#include "conf/conf_path.h"
#include "sandbox/seccomp.h"

enum { PATH_BYTES = 4096, LINKS_MAX = 40 };

/*
 * Thousands of roots are mostly in few directories, which are checked once: known has flags by
 * path.
 */
struct way {
	sandbox_path_fn *fn;
	void *ctx;
	unsigned links;
	struct name_map known;
	struct arena names; /* of known */
};

enum {
	KNOWN_LINK = 1, /* it was checked for a link, and followed */
	KNOWN_WALKED = 2,
	KNOWN_FOLDER = 4, /* a path in it was requested */
	KNOWN_OPEN = 8,   /* and it was allowed as a whole */
};

/* True if path has flag; from now on it does, unless memory is out. */
static bool knew(struct way *w, const char *path, size_t n, unsigned flag)
{
	struct slice name = slice_of(path, n);
	unsigned flags = name_map_get(&w->known, name), *value;

	if (flags & flag)
		return true;
	if (flags == 0)
		name = arena_dup(&w->names, name);
	value = name.p != NULL ? name_map_put(&w->known, name) : NULL;
	if (value != NULL)
		*value |= flag;
	return false;
}

/* The directory of path. True: it is allowed as a whole. */
static bool folder_of(struct way *w, char *path)
{
	char *slash = strrchr(path, '/');
	char real[PATH_BYTES];
	size_t n = slash != NULL ? (size_t)(slash - path) : 0;

	if (n == 0)
		return false;
	if (knew(w, path, n, KNOWN_FOLDER))
		return name_map_get(&w->known, slice_of(path, n)) & KNOWN_OPEN;
	*slash = '\0';
	if (realpath(path, real) != NULL && !conf_path_is_wide(real)) {
		w->fn(w->ctx, real, LANDLOCK_READ);
		knew(w, path, n, KNOWN_OPEN);
	}
	*slash = '/';
	return name_map_get(&w->known, slice_of(path, n)) & KNOWN_OPEN;
}

static void sandbox_paths_walk(struct way *w, const char *path);

/* True: path, cut at end, is a link. Walks its target. */
static bool sandbox_paths_follow(struct way *w, const char *path, size_t end)
{
	char link[PATH_BYTES], text[PATH_BYTES], to[2 * PATH_BYTES];
	const char *slash;
	ssize_t n;

	memcpy(link, path, end);
	link[end] = '\0';
	n = readlink(link, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	if (w->links++ >= LINKS_MAX)
		return true;
	text[n] = '\0';
	slash = strrchr(link, '/');
	if (text[0] == '/' || slash == NULL)
		snprintf(to, sizeof(to), "%s", text);
	else
		snprintf(to, sizeof(to), "%.*s/%s", (int)(slash - link), link, text);
	sandbox_paths_walk(w, to);
	return true;
}

/* Walks an absolute path: each link on the way, then the last directory, and its end. */
static void sandbox_paths_walk(struct way *w, const char *path)
{
	char end[PATH_BYTES];
	size_t n = strlen(path);
	bool link = false;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n == 0 || n >= sizeof(end) || knew(w, path, n, KNOWN_WALKED))
		return;
	memcpy(end, path, n);
	end[n] = '\0';
	for (size_t i = 1; i <= n; i++)
		if (end[i] == '/' || end[i] == '\0')
			link = knew(w, end, i, KNOWN_LINK) || sandbox_paths_follow(w, end, i);
	if (!folder_of(w, end) || link)
		w->fn(w->ctx, end, LANDLOCK_READ);
}

static void sandbox_paths_go(struct way *w, const char *path)
{
	w->links = 0;
	if (path != NULL && path[0] == '/')
		sandbox_paths_walk(w, path);
}

static void of_server(struct way *w, const struct conf_server *s, unsigned wanted)
{
	const struct conf_pos *at;
	char path[PATH_BYTES];

	if (wanted & SANDBOX_ROOTS)
		sandbox_paths_go(w, s->root);
	for (unsigned i = 0; wanted & SANDBOX_ROOTS && i < s->nlocations; i++)
		sandbox_paths_go(w, s->locations[i].root);
	for (unsigned i = 0; wanted & SANDBOX_PASSWORDS && i <= s->nlocations; i++)
		sandbox_paths_go(w, conf_scope(s, i)->auth_basic_file);
	for (unsigned i = 0; wanted & SANDBOX_UPLOADS && i <= s->nlocations; i++) {
		const char *dir = conf_upload_dir(s, i, &at);

		if (dir != NULL && *dir != '\0' &&
			snprintf(path, sizeof(path), "%s/%s", s->root, dir) < (int)sizeof(path))
			w->fn(w->ctx, path, LANDLOCK_WRITE);
	}
}

bool sandbox_paths_links_of(const struct conf_server *s)
{
	bool any = false;

	for (unsigned i = 0; i <= s->nlocations; i++)
		any |= conf_scope(s, i)->follow_links == LINKS_ALL;
	return any;
}

bool sandbox_paths_links(const struct conf *conf)
{
	bool any = false;

	for (unsigned i = 0; i < conf->nservers; i++)
		any |= sandbox_paths_links_of(&conf->servers[i]);
	return any;
}

static unsigned of_proxy(const struct conf_list *proxy, sandbox_port_fn *fn, void *ctx)
{
	unsigned needs = proxy->n > 0 ? SECCOMP_PROXY : 0;
	struct addr addr;

	for (unsigned i = 0; i < proxy->n; i++) {
		if (addr_parse(proxy->v[i], &addr) != NULL)
			needs |= SECCOMP_NAMES;
		if (fn != NULL && addr.sa.sa_family != AF_UNIX)
			fn(ctx, (unsigned)atoi(strrchr(proxy->v[i], ':') + 1));
	}
	return needs;
}

unsigned sandbox_proxies(const struct conf *conf, sandbox_port_fn *fn, void *ctx)
{
	unsigned needs = 0;

	for (const struct conf_server *s = conf->servers; s != conf->servers + conf->nservers; s++)
		for (unsigned i = 0; i <= s->nlocations; i++)
			needs |= of_proxy(&conf_scope(s, i)->proxy, fn, ctx);
	return needs;
}

/* A file to read may be replaced by rename(2); to write it is a directory, and a link's target. */
static void of_handler(
	void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at)
{
	struct way *w = ctx;
	char folder[PATH_BYTES], real[PATH_BYTES];

	(void)at;
	if (row->access == CONF_ACCESS_READ) {
		sandbox_paths_go(w, path);
		return;
	}
	if (conf_handlers_folder(path, folder, sizeof(folder)))
		w->fn(w->ctx, folder, LANDLOCK_WRITE);
	if (realpath(path, real) != NULL && conf_handlers_folder(real, folder, sizeof(folder)) &&
		!conf_path_is_wide(folder))
		w->fn(w->ctx, folder, LANDLOCK_WRITE);
}

/* Devices for libraries of handlers: without random bytes SQLite uses time and process ID. */
static const char *const devices[] = { "/dev/null", "/dev/random", "/dev/urandom" };

/* Files of getaddrinfo(3); resolv.conf may be a link. */
static const char *const resolver[] = { "/etc/gai.conf", "/etc/host.conf", "/etc/hosts",
	"/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/services" };

/* The certificates with which TLS libraries check servers: Debian's are links. */
static const char *const network[] = { "/etc/ssl/certs", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates" };

#ifdef __SANITIZE_ADDRESS__
/* For leak detection, and for the function names of a report. */
static const char *const reports[] = { "/proc", "/proc/self/exe", "/lib", "/usr/lib" };
#endif

static void all_of(
	const char *const *paths, size_t n, unsigned rights, sandbox_path_fn *fn, void *ctx)
{
	for (size_t i = 0; i < n; i++)
		fn(ctx, paths[i], rights);
}

#define ALL(paths) (paths), sizeof(paths) / sizeof((paths)[0])

void sandbox_paths(const struct conf *conf, unsigned wanted, sandbox_path_fn *fn, void *ctx)
{
	struct way w = { .fn = fn, .ctx = ctx };
	bool names = false;

	arena_init(&w.names, NULL, 0, SIZE_MAX);
	for (unsigned i = 0; i < conf->nservers; i++)
		of_server(&w, &conf->servers[i], wanted);
	if (wanted & SANDBOX_MORE) {
		conf_handlers_paths(conf, of_handler, &w);
		names = conf->sandbox.network || sandbox_proxies(conf, NULL, NULL) & SECCOMP_NAMES;
	}
	for (size_t i = 0; names && i < sizeof(resolver) / sizeof(resolver[0]); i++)
		sandbox_paths_go(&w, resolver[i]);
	name_map_fini(&w.known);
	arena_reset(&w.names);
	if ((wanted & SANDBOX_LINKS) && sandbox_paths_links(conf))
		fn(ctx, "/", LANDLOCK_READ);
#ifdef __SANITIZE_ADDRESS__
	all_of(ALL(reports), LANDLOCK_READ, fn, ctx);
#endif
	if (!(wanted & SANDBOX_MORE))
		return;
	all_of(ALL(devices), LANDLOCK_READ, fn, ctx);
	if (conf->sandbox.network)
		all_of(ALL(network), LANDLOCK_READ, fn, ctx);
	all_of((const char *const *)conf->sandbox.read.v, conf->sandbox.read.n, LANDLOCK_READ, fn,
		ctx);
	all_of((const char *const *)conf->sandbox.write.v, conf->sandbox.write.n, LANDLOCK_WRITE,
		fn, ctx);
}
