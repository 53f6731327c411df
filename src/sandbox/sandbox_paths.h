/*
 * sandbox_paths: which files and folders a process needs, out of the configuration. Landlock binds
 * what a name stands for at that moment, so that what can take the name later, a release that a
 * link is moved to or a password file put in place by rename(2), is allowed by its folder.
 */
#ifndef H2D_SANDBOX_SANDBOX_PATHS_H
#define H2D_SANDBOX_SANDBOX_PATHS_H

#include "conf/conf.h"

/* Paths that a kind of process needs. */
enum sandbox_paths {
	SANDBOX_ROOTS = 1,     /* to read, those of all servers */
	SANDBOX_PASSWORDS = 2, /* to read */
	SANDBOX_UPLOADS = 4,   /* to write */
	SANDBOX_MORE = 8,      /* `read` and `write` of the configuration */
	SANDBOX_LINKS = 16,    /* to read, what links out of a root may lead to: everything */
};

/* Called with the path of each, LANDLOCK_READ or LANDLOCK_WRITE; more than once for some. */
typedef void sandbox_path_fn(void *ctx, const char *path, unsigned rights);

/* wanted: SANDBOX_…; fn may change nothing that a path leads through. */
void sandbox_paths(const struct conf *conf, unsigned wanted, sandbox_path_fn *fn, void *ctx);

/* Whether links out of a root are followed somewhere; and in that server. */
bool sandbox_paths_links(const struct conf *conf);
bool sandbox_paths_links_of(const struct conf_server *s);

/* A path whose file may be replaced: it, its folder, and the folder of what each link leads to. */
void sandbox_paths_way(const char *path, sandbox_path_fn *fn, void *ctx);

#endif
