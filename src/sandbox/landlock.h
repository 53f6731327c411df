/*
 * landlock: the kernel's rules for which files a process may open (landlock(7)). Sandbox makes a
 * ruleset in a new process while that may still look at every path, and puts it into force when the
 * process has become its user. Nothing takes it off again.
 */
#ifndef H2D_SANDBOX_LANDLOCK_H
#define H2D_SANDBOX_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum landlock_rights { LANDLOCK_READ = 1, LANDLOCK_WRITE = 2 };

struct landlock {
	int fd; /* of the ruleset; -1: none */
	int abi;
};

/* The version of the kernel's Landlock; 0: it has none, or this build does not. */
int landlock_abi(void);

/* A ruleset that allows nothing, but network: all of TCP. 0, or -errno. */
int landlock_new(struct landlock *l, bool network);

/*
 * Allows LANDLOCK_… for the file or folder behind fd (O_PATH will do) and all that is below it,
 * now and later; another that takes its name later is not meant. 0, or -errno.
 */
int landlock_allow(const struct landlock *l, int fd, unsigned rights);

/* From now on it holds for this process; no_new_privs must be set. Closes l. 0, or -errno. */
int landlock_enter(struct landlock *l);

#endif
