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

/*
 * mend: checks once a second that the master's listening sockets still accept connections: a
 * worker taken over by an attacker can shut one down, and the socket outlives the worker. A shut-
 * down one is made to listen again; a unix socket is replaced, and the processes are told.
 */

void mend_second(struct master *m);

/* Messages of DUE_SOCKETS: each shared socket of c's generation, again. */
child_fill_fn mend_fill;
