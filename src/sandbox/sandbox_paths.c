/*
 * sandbox_paths: walks the configuration, and the symbolic links of paths in it. Called by
 * sandbox.c in a new process. It opens nothing; of the file system it asks what links say.
 */
#include "sandbox/sandbox_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/landlock.h"

enum { PATH_BYTES = 4096, LINKS_MAX = 40 };

struct way {
	sandbox_path_fn *fn;
	void *ctx;
	unsigned links;
};

/* A folder in which everything may lie is not allowed as a whole: "/", and those directly in it. */
static bool is_too_much(const char *folder)
{
	return strchr(folder + 1, '/') == NULL;
}

static void folder_of(struct way *w, char *path)
{
	char *slash = strrchr(path, '/');
	char real[PATH_BYTES];

	if (slash == NULL || slash == path)
		return;
	*slash = '\0';
	if (realpath(path, real) != NULL && !is_too_much(real))
		w->fn(w->ctx, real, LANDLOCK_READ);
	*slash = '/';
}

static void walk(struct way *w, const char *path);

/* path, cut at end, is a link: where it leads. */
static void follow(struct way *w, const char *path, size_t end)
{
	char link[PATH_BYTES], text[PATH_BYTES], to[2 * PATH_BYTES];
	const char *slash;
	ssize_t n;

	memcpy(link, path, end);
	link[end] = '\0';
	n = readlink(link, text, sizeof(text) - 1);
	if (n <= 0 || w->links++ >= LINKS_MAX)
		return;
	text[n] = '\0';
	slash = strrchr(link, '/');
	if (text[0] == '/' || slash == NULL)
		snprintf(to, sizeof(to), "%s", text);
	else
		snprintf(to, sizeof(to), "%.*s/%s", (int)(slash - link), link, text);
	walk(w, to);
}

/* Goes an absolute path: each link on the way, then the folder it ends in, and where it ends. */
static void walk(struct way *w, const char *path)
{
	char end[PATH_BYTES];
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n == 0 || n >= sizeof(end))
		return;
	memcpy(end, path, n);
	end[n] = '\0';
	for (size_t i = 1; i <= n; i++)
		if (end[i] == '/' || end[i] == '\0')
			follow(w, end, i);
	folder_of(w, end);
	w->fn(w->ctx, end, LANDLOCK_READ);
}

void sandbox_paths_way(const char *path, sandbox_path_fn *fn, void *ctx)
{
	struct way w = { fn, ctx, 0 };

	if (path != NULL && path[0] == '/')
		walk(&w, path);
}

static void uploads(const struct conf_server *s, sandbox_path_fn *fn, void *ctx)
{
	char path[PATH_BYTES];

	if (s->upload_dir != NULL && s->upload_dir[0] != '\0' &&
		snprintf(path, sizeof(path), "%s/%s", s->root, s->upload_dir) < (int)sizeof(path))
		fn(ctx, path, LANDLOCK_WRITE);
}

static void roots(const struct conf_server *s, sandbox_path_fn *fn, void *ctx)
{
	sandbox_paths_way(s->root, fn, ctx);
	for (unsigned i = 0; i < s->nlocations; i++)
		sandbox_paths_way(s->locations[i].root, fn, ctx);
}

static void of_server(const struct conf_server *s, unsigned wanted, sandbox_path_fn *fn, void *ctx)
{
	if (wanted & SANDBOX_ROOTS)
		roots(s, fn, ctx);
	if (wanted & SANDBOX_UPLOADS)
		uploads(s, fn, ctx);
	if (!(wanted & SANDBOX_PASSWORDS))
		return;
	sandbox_paths_way(s->scope.auth_basic_file, fn, ctx);
	for (unsigned i = 0; i < s->nlocations; i++)
		sandbox_paths_way(s->locations[i].scope.auth_basic_file, fn, ctx);
}

bool sandbox_paths_links_of(const struct conf_server *s)
{
	bool any = s->scope.follow_links != 0;

	for (unsigned i = 0; i < s->nlocations; i++)
		any |= s->locations[i].scope.follow_links != 0;
	return any;
}

bool sandbox_paths_links(const struct conf *conf)
{
	bool any = false;

	for (unsigned i = 0; i < conf->nservers; i++)
		any |= sandbox_paths_links_of(&conf->servers[i]);
	return any;
}

static void all_of(const struct conf_list *paths, unsigned rights, sandbox_path_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < paths->n; i++)
		fn(ctx, paths->v[i], rights);
}

/* Files that getaddrinfo(3) reads. */
static void resolver(sandbox_path_fn *fn, void *ctx)
{
	static const char *const files[] = { "/etc/gai.conf", "/etc/host.conf", "/etc/hosts",
		"/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/services" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fn(ctx, files[i], LANDLOCK_READ);
}

void sandbox_paths(const struct conf *conf, unsigned wanted, sandbox_path_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < conf->nservers; i++)
		of_server(&conf->servers[i], wanted, fn, ctx);
	if ((wanted & SANDBOX_LINKS) && sandbox_paths_links(conf))
		fn(ctx, "/", LANDLOCK_READ);
#ifdef __SANITIZE_ADDRESS__
	fn(ctx, "/proc", LANDLOCK_READ); /* where a leak is looked for */
#endif
	if (!(wanted & SANDBOX_MORE))
		return;
	if (conf->sandbox.network)
		resolver(fn, ctx);
	all_of(&conf->sandbox.read, LANDLOCK_READ, fn, ctx);
	all_of(&conf->sandbox.write, LANDLOCK_WRITE, fn, ctx);
}
