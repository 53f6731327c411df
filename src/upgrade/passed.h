/*
 * passed: descriptors that the service manager, or a replaced master, gives to the next program,
 * each by a name (sd_listen_fds(3)). The same code, which trusts no name, reads both.
 */
#pragma once

#include <stdbool.h>

enum { PASSED_FIRST = 3 }; /* the first descriptor in the receiving process */

/* Empty when zeroed. */
struct passed {
	struct passed_fd {
		int fd;     /* -1: taken */
		char *name; /* without a colon */
	} * v;
	unsigned n, room;
};

/*
 * Reads this process's passed descriptors, once: removes the variables from the environment, and
 * makes the descriptors close-on-exec. Empty when memory is out.
 */
void passed_read(struct passed *p);

/* Takes the first descriptor of that name, for the caller; -1: none. */
int passed_take(struct passed *p, const char *name);

/* Adds one, which stays the caller's; fd -1: none. False: memory is out. */
bool passed_add(struct passed *p, int fd, const char *name);

/* Frees the memory; no descriptor is closed. */
void passed_free(struct passed *p);

/*
 * program: this program's call: arguments, environment and, as it never changes, the working
 * directory; and a way to repeat it. Main keeps it before the environment changes.
 */

struct program {
	char **argv, **env; /* copies of the lists; the strings are the process's own */
};

/* 0, or -ENOMEM. */
int program_keep(struct program *p, char **argv);

void program_free(struct program *p);

/*
 * Replaces this process by program and passes the descriptors to it; variable is one more, of the
 * form "NAME=value". -errno; then any of the n descriptors from PASSED_FIRST on may be another one.
 */
int passed_exec(const struct passed *p, const struct program *program, const char *variable);
