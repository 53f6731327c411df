/*
 * worker_leave: the end of a worker: it takes nothing new, finishes what is open, and cuts what is
 * not over in time. For server/worker*.c only.
 */
#ifndef H2D_SERVER_WORKER_LEAVE_H
#define H2D_SERVER_WORKER_LEAVE_H

#include "server/worker_state.h"

void worker_leave_init(struct worker *w);
void worker_leave_stop(struct worker *w);

/* The drain begins, and may last ms milliseconds. closing: see CTL_DRAIN. */
void worker_leave_begin(struct worker *w, uint64_t ms, uint64_t closing);

/* Cuts everything. */
void worker_leave_now(struct worker *w);

/* A connection has ended, or all that were to be taken have been: stops the loop behind the last.
 */
void worker_leave_look(struct worker *w);

#endif
