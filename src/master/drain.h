/*
 * drain: ends a generation, and all of them at the end of the program. Drain asks their processes
 * to finish, then terminates them, then kills them; the last one's end frees the generation.
 */
#pragma once

#include "master/gen.h"

/*
 * Asks g's processes to finish their requests: at a stop within its shutdown-timeout, else within
 * its reload-timeout. For one that drains already it can only shorten the time.
 */
void drain_begin(struct gen *g, bool stop);

/* Frees g, at the end of this turn, if it has no process left. */
void drain_check(struct gen *g);

void drain_init(struct master *m);

/* Takes the ends of the previous master's pipe. */
void drain_inherit(struct master *m, int reign_end, int reign);

/*
 * Announces a graceful end in the health check; drain_all() follows after shutdown-delay. False: no
 * delay, or it runs already.
 */
bool drain_announce(struct master *m);

enum drain {
	DRAIN_CUT,  /* at once */
	DRAIN_STOP, /* within shutdown-timeout */
	DRAIN_HEIR, /* within reload-timeout: another master serves */
};

/* Ends all; the loop stops with the last process. */
void drain_all(struct master *m, enum drain how);

/*
 * Ends the master alone: its processes finish their requests, and the service manager's store has
 * the sockets for the next one. Only while it serves.
 */
void drain_yield(struct master *m);
