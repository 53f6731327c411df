/*
 * doubts: the sockets on which keepers read doubts (image/doubt.h): a pair of each generation with
 * a keeper, one of the previous master, one of the replacing program. Processes write to all of
 * them, because they keep writing files that another generation's images will contain.
 */
#pragma once

#include "master/gen.h"

/* Makes g, which has no process yet, continue with the pair of the old master's processes. */
void doubts_inherit(struct gen *g);

/* Gives g another pair, if a worker has shut down its end of this one, which all share. */
void doubts_mend(struct gen *g);

/* Announces the newest pair to all processes. */
void doubts_introduce(const struct master *m);

/* The message of DUE_KEEPER to c; false: c's process knows the newest pair from its start. */
child_fill_fn doubts_fill;

/* The descriptors for a process that starts now: at most max; returns how many. */
unsigned doubts_find(const struct master *m, int *fds, unsigned max);
void doubts_forget(struct master *m);

/* Closes both ends; -1: none. */
void doubts_close(int ends[2]);
