/*
 * conn_timer: which timeout a connection is under, and what happens when it fires. A timeout begins
 * with what is waited for and is not moved by bytes that do not end it; only output that the peer takes
 * moves the send timeout, and pieces of a request body that come move the body's. For server/conn.c only.
 */
#ifndef H2D_SERVER_CONN_TIMER_H
#define H2D_SERVER_CONN_TIMER_H

#include "server/conn.h"

void conn_timer_init(struct conn *c);

/* Fires in ms milliseconds, whatever it was set for before. */
void conn_timer_set(struct conn *c, uint64_t ms);

/* After a turn of c's: sets what is waited for now. progress: the peer took output. */
void conn_timer_update(struct conn *c, bool progress);

#endif
