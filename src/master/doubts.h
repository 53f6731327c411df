/*
 * doubts: where keepers read which names may have changed (image/doubt.h): a pair of sockets of
 * each generation that has a keeper, one of the master that this one replaces, one of the program
 * that is to replace it. Processes write to all of them, for they go on writing files that another
 * generation's images will hold.
 */
#ifndef H2D_MASTER_DOUBTS_H
#define H2D_MASTER_DOUBTS_H

#include "master/gen.h"

/* Has g, which has no process yet, go on with the pair that the old master's processes write to. */
void doubts_inherit(struct gen *g);

/* Has g go on with another pair, if a worker has shut down its end of this one, which all have. */
void doubts_mend(struct gen *g);

/* Tells all processes of the newest pair. */
void doubts_introduce(const struct master *m);

/* The message of DUE_KEEPER to c; false: c's process knows the newest pair from its start. */
child_fill_fn doubts_fill;

/* Where a process that starts now writes to: at most max descriptors; how many. */
unsigned doubts_find(const struct master *m, int *fds, unsigned max);

/* The keeper of the old master is told no more. */
void doubts_forget(struct master *m);

/* Closes both ends; -1 is none. */
void doubts_close(int ends[2]);

#endif
