/*
 * passed: descriptors that a process gives to the program that follows it, each by a name
 * (LISTEN_FDS and LISTEN_FDNAMES, sd_listen_fds(3)). The service manager passes sockets of a unit
 * and of its store so, and a master the sockets, and more, to the program that is to replace it.
 * Both are read by the same code, which trusts no name.
 */
#ifndef H2D_UPGRADE_PASSED_H
#define H2D_UPGRADE_PASSED_H

#include <stdbool.h>

#include "machine/program.h"

enum { PASSED_FIRST = 3 }; /* the first descriptor in the process that gets them */

/* Zeroed it is empty. */
struct passed {
	struct passed_fd {
		int fd;     /* -1: taken */
		char *name; /* without a colon */
	} * v;
	unsigned n, room;
};

/*
 * Reads what this process was passed, once: the variables go from the environment, and the
 * descriptors are close-on-exec. Where memory is out there is nothing.
 */
void passed_read(struct passed *p);

/* The first descriptor of that name, which is the caller's from now on; -1: there is none. */
int passed_take(struct passed *p, const char *name);

/* Adds one, which stays the caller's; fd -1 is none. False: memory is out. */
bool passed_add(struct passed *p, int fd, const char *name);

/*
 * Runs program in the place of this process and passes them to it; variable is one more, of the
 * form "NAME=value". -errno; by then any descriptor from PASSED_FIRST on, n of them, may be another
 * one.
 */
int passed_exec(const struct passed *p, const struct program *program, const char *variable);

/* Frees the memory; no descriptor is closed. */
void passed_free(struct passed *p);

#endif
