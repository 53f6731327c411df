/*
 * worker_trim: gives memory back to the system when a crowd of connections has left, or after much
 * work: what pools and free lists keep, and what malloc has free. For server/worker.c only.
 */
#ifndef H2D_SERVER_WORKER_TRIM_H
#define H2D_SERVER_WORKER_TRIM_H

#include "server/worker_state.h"

/* Before the first thread. */
void worker_trim_start(void);

/* A connection was taken. */
void worker_trim_taken(struct worker *w);

/* Each second. */
void worker_trim_look(struct worker *w);

#endif
