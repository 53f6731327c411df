/*
 * sandbox_paths: the files and directories that a process needs, from the configuration. Landlock
 * binds a name's file of that moment, so a later one, such as a release that a link is moved to or
 * a password file put in place by rename(2), is allowed by its directory.
 */
#pragma once

#include "conf/conf.h"

/* Paths that a kind of process needs. */
enum sandbox_paths {
	SANDBOX_ROOTS = 1,     /* to read, those of all servers */
	SANDBOX_PASSWORDS = 2, /* to read */
	SANDBOX_UPLOADS = 4,   /* to write */
	SANDBOX_MORE = 8,      /* `read` and `write` of the configuration */
	SANDBOX_LINKS = 16,    /* to read, the possible targets of links out of a root:
				* everything */
};

/* Rights to a path and all below it. */
enum landlock_rights { LANDLOCK_READ = 1, LANDLOCK_WRITE = 2 };

/* Called with the path of each, LANDLOCK_READ or LANDLOCK_WRITE; more than once for some. */
typedef void sandbox_path_fn(void *ctx, const char *path, unsigned rights);

/* wanted: SANDBOX_…; fn must not change any part of a path. */
void sandbox_paths(const struct conf *conf, unsigned wanted, sandbox_path_fn *fn, void *ctx);

typedef void sandbox_port_fn(void *ctx, unsigned port);

/* The calls that proxies need: SECCOMP_… (sandbox/seccomp.h). Calls fn (NULL: none) with each port
 * of applications, more than once with some. */
unsigned sandbox_proxies(const struct conf *conf, sandbox_port_fn *fn, void *ctx);

/* True if links out of a root are followed somewhere; and in that server. */
bool sandbox_paths_links(const struct conf *conf);
bool sandbox_paths_links_of(const struct conf_server *s);
