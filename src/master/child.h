/*
 * child: supervision of one process: starts it, talks to it, notices its end, starts it again. Which
 * generation it belongs to decides what its end means.
 */
#ifndef H2D_MASTER_CHILD_H
#define H2D_MASTER_CHILD_H

#include "master/gen.h"

void child_init(struct child *c);

/* Starts c's process. 0, or -1 (logged). */
int child_start(struct child *c);

/* Has these messages (DUE_…) sent to c, now or as soon as its queue has room. */
void child_send(struct child *c, unsigned due);

/* Sends what waits; true while something still does. */
bool child_flush(struct child *c);

/* wait(2) says that c's process is gone. */
void child_reaped(struct child *c, int status);

/* A signal for c's process, if there is one. */
void child_kill(const struct child *c, int signo);

/* It is not started again. */
void child_give_up(struct child *c);

#endif
