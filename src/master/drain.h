/*
 * drain: how a generation leaves, and how all of them do at the end of the program. Drain asks
 * their processes to finish, then terminates them, then kills them; the last one takes the
 * generation with it.
 */
#ifndef H2D_MASTER_DRAIN_H
#define H2D_MASTER_DRAIN_H

#include "master/gen.h"

/* Asks g's processes to finish what they have within its shutdown-timeout. */
void drain_begin(struct gen *g);

/* Frees g, at the end of this turn, if it has no process left. */
void drain_check(struct gen *g);

/* How many generations drain. */
unsigned drain_count(const struct master *m);

void drain_init(struct master *m);

/*
 * A graceful end is wanted: health says so from now on, and drain_all() follows after
 * shutdown-delay. False: there is no delay, or it runs already.
 */
bool drain_announce(struct master *m);

/* Ends everything, gracefully or at once; the loop stops with the last process. */
void drain_all(struct master *m, bool gracefully);

/*
 * Ends the master alone: its processes finish what they have, and the service manager's store has
 * the sockets for the next one. Only while it serves.
 */
void drain_yield(struct master *m);

#endif
