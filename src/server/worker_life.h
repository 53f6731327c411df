/*
 * worker_life: the states of a worker: it is up, takes connections when its generation serves, and
 * at its end finishes what is open, and cuts what is not over in time. For server/worker*.c only.
 */
#ifndef H2D_SERVER_WORKER_LIFE_H
#define H2D_SERVER_WORKER_LIFE_H

#include "server/worker_state.h"

void worker_life_init(struct worker *w);
void worker_life_stop(struct worker *w);

/* All is there that the worker serves with. */
void worker_life_up(struct worker *w);

/* The generation of the worker serves: its strategy of dispatch begins. */
void worker_life_serve(struct worker *w);

/* The drain begins, or has less time from now on. stop, closing: see CTL_DRAIN. */
void worker_life_drain(struct worker *w, bool stop, uint64_t closing);

/* Cuts everything. */
void worker_life_cut(struct worker *w);

/* A connection has ended, or all that were to be taken have been: stops the loop behind the last.
 */
void worker_life_look(struct worker *w);

#endif
