/*
 * watchdog: finds children that hang: each ticks once a second, in its slot of the scoreboard or
 * by CTL_TICK. One without a tick for worker-watchdog seconds loses its sockets to neighbours, is
 * killed and replaced. Also reports the master's own turns to the service manager.
 */
#pragma once

#include "master/child.h"

struct master;
void watchdog_second(struct master *m);

/*
 * One look at a process that has ticked so often; limit: looks without a tick until it is stuck; 0:
 * never. Pure. Returns the next step:
 */
enum watchdog_step {
	WATCHDOG_FINE,
	WATCHDOG_STUCK,  /* steer away, and SIGABRT */
	WATCHDOG_KILL,   /* SIGKILL */
	WATCHDOG_WAIT,   /* for its end */
	WATCHDOG_BEYOND, /* SIGKILL does not help */
};
enum watchdog_step watchdog_look(struct watchdog *w, uint64_t ticks, unsigned limit);
