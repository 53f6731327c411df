/*
 * watchdog: finds children that stand still. Each child ticks once a second, in its slot of the
 * scoreboard or by CTL_TICK; the master, once a second, sees whether it did. One that has not for
 * worker-watchdog seconds is steered away from, ended and replaced. Also tells the service manager
 * that the master turns.
 */
#ifndef H2D_MASTER_WATCHDOG_H
#define H2D_MASTER_WATCHDOG_H

#include "master/child.h"

struct master;

/* Looks at all processes; once a second. */
void watchdog_second(struct master *m);

/* c has a new process. */
void watchdog_reset(struct child *c);

/*
 * One look at a process that has ticked so often; limit: after how many looks without a tick it is
 * stuck; 0: never. Pure. What is to be done now:
 */
enum watchdog_step {
	WATCHDOG_FINE,
	WATCHDOG_STUCK,  /* steer away, and SIGABRT */
	WATCHDOG_KILL,   /* SIGKILL */
	WATCHDOG_WAIT,   /* for its end */
	WATCHDOG_BEYOND, /* not even that helps */
};
enum watchdog_step watchdog_look(struct watchdog *w, uint64_t ticks, unsigned limit);

#endif
