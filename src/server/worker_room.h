/*
 * worker_room: how many connections a worker has room for, by its configuration and its limit of
 * descriptors, and what happens when it is full: a silent or the longest idle connection leaves
 * (sessions.h), and where there is none, connections wait in the queue, of which the master
 * hears: it lends the sockets to a neighbour. For server/worker.c only.
 */
#ifndef H2D_SERVER_WORKER_ROOM_H
#define H2D_SERVER_WORKER_ROOM_H

#include "server/worker_state.h"

/* Shares out that many descriptors. */
struct worker_room worker_room_of(uint64_t descriptors, unsigned worker_connections);

void worker_room_start(struct worker *w);
void worker_room_stop(struct worker *w);

/* Each second, and at the start: the limit may have been changed. */
void worker_room_look(struct worker *w);

/* How many connections may be taken at once; at least one, for which another may have to leave. */
unsigned worker_room_left(const struct worker *w);

/* A connection was taken. */
void worker_room_taken(struct worker *w);

/* A connection has ended, or is idle now. */
void worker_room_freed(struct worker *w);

#endif
