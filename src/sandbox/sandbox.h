/*
 * sandbox: what a child process gives up when it starts, for good: root, capabilities, gaining
 * privileges by exec, files and system calls that its kind does not need. Spawn calls it when the
 * child has closed what it does not get, before its first thread. The master stays what it is.
 */
#ifndef H2D_SANDBOX_SANDBOX_H
#define H2D_SANDBOX_SANDBOX_H

#include <stdint.h>

#include "conf/conf.h"
#include "sandbox/privs.h"

/* Rights that a kind of process keeps, in its row of child_kind.c. */
struct sandbox {
	unsigned paths; /* SANDBOX_ROOTS … of sandbox_paths.h */
	unsigned calls; /* SECCOMP_FILES … of seccomp.h */
	bool fewer;     /* its limit of descriptors is below that of the other kinds */
};

/* The limit of descriptors of a kind that has fewer, where others have that one. */
static inline uint64_t sandbox_fewer(uint64_t limit)
{
	return limit - limit / 4;
}

/* Gives up all other rights; a right that the kernel cannot take is logged. *epfd: an epoll
 * instance, of which the process may make no other. 0, or -errno: then the process must not serve.
 */
int sandbox_enter(
	const struct sandbox *s, const struct conf *conf, const struct privs *privs, int *epfd);

/* In the master: one line of the log about what is in force for its children. */
void sandbox_log(const struct conf *conf);

/* The parts that this build has, as words for -V: " landlock seccomp", or less. */
const char *sandbox_built(void);

#endif
