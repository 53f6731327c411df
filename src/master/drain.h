/*
 * drain: how a generation leaves, and how all of them do at the end of the program. Drain asks
 * their processes to finish, then terminates them, then kills them; the last one takes the
 * generation with it.
 */
#ifndef H2D_MASTER_DRAIN_H
#define H2D_MASTER_DRAIN_H

#include "master/gen.h"

/*
 * Asks g's processes to finish what they have: at a stop within its shutdown-timeout, else within
 * its reload-timeout. One that drains already has less time from now on, never more.
 */
void drain_begin(struct gen *g, bool stop);

/* Frees g, at the end of this turn, if it has no process left. */
void drain_check(struct gen *g);

void drain_init(struct master *m);

/* Takes the ends of the pipe of the master that hands over. */
void drain_inherit(struct master *m, int reign_end, int reign);

/*
 * A graceful end is wanted: health says so from now on, and drain_all() follows after
 * shutdown-delay. False: there is no delay, or it runs already.
 */
bool drain_announce(struct master *m);

enum drain {
	DRAIN_CUT,  /* at once */
	DRAIN_STOP, /* within shutdown-timeout */
	DRAIN_HEIR, /* within reload-timeout: another master serves */
};

/* Ends everything; the loop stops with the last process. */
void drain_all(struct master *m, enum drain how);

/*
 * Ends the master alone: its processes finish what they have, and the service manager's store has
 * the sockets for the next one. Only while it serves.
 */
void drain_yield(struct master *m);

#endif
