/*
 * landlock: the kernel's rules for a process's files (landlock(7)). Sandbox makes a ruleset in a
 * new process while that can still open every path, and enforces it when the process has become its
 * user. It cannot be removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum landlock_rights { LANDLOCK_READ = 1, LANDLOCK_WRITE = 2 };

struct landlock {
	int fd; /* of the ruleset; -1: none */
	int abi;
};

/* The version of the kernel's Landlock; 0: none. */
int landlock_abi(void);

/* Makes a ruleset that allows no access, except network: all of TCP. 0, or -errno. */
int landlock_new(struct landlock *l, bool network);

/*
 * Allows LANDLOCK_… for the file or directory of fd (O_PATH is enough) and all below it, now and
 * later; not for one that takes its name later. 0, or -errno.
 */
int landlock_allow(const struct landlock *l, int fd, unsigned rights);

/* Enforces it for this process; no_new_privs must be set. Closes l. 0, or -errno. */
int landlock_enter(struct landlock *l);
