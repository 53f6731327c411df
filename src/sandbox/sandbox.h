/*
 * sandbox: the rights that a child process drops when it starts, for good, before its first
 * thread. The master keeps its rights.
 */
#pragma once

#include <stdint.h>

#include "conf/conf.h"
#include "sandbox/privs.h"

/* Rights that a kind of process keeps, in its row of child_kind.c. */
struct sandbox {
	unsigned paths; /* SANDBOX_ROOTS … of sandbox_paths.h */
	unsigned calls; /* SECCOMP_FILES … of seccomp.h */
	bool fewer;     /* its limit of descriptors is below that of the other kinds */
};

/* The limit of descriptors of a kind with fewer, if others have limit. */
static inline uint64_t sandbox_fewer(uint64_t limit)
{
	return limit - limit / 4;
}

/* Drops all other rights; logs those that the kernel cannot take. *epfd: an epoll instance; the
 * process may make no other. 0, or -errno: then the process must not serve. */
int sandbox_enter(
	const struct sandbox *s, const struct conf *conf, const struct privs *privs, int *epfd);

/* In the master: logs one line about its children's restrictions. */
void sandbox_log(const struct conf *conf);

/* The parts in this build, as words for -V: " landlock seccomp", or the first. */
const char *sandbox_built(void);
