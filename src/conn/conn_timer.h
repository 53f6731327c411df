/*
 * conn_timer: which timeout a connection is under, and what happens when it fires. A timeout begins
 * with what is waited for and is not moved by bytes that do not end it; only output that the peer
 * takes at the least rate moves the send timeout, and a request body that comes so moves the
 * body's. For conn/conn.c only.
 */
#ifndef H2D_CONN_CONN_TIMER_H
#define H2D_CONN_CONN_TIMER_H

#include "conn/conn.h"

void conn_timer_init(struct conn *c);

/* Fires in ms milliseconds, whatever it was set for before. */
void conn_timer_set(struct conn *c, uint64_t ms);

/* After a turn of c's: sets what is waited for now. */
void conn_timer_update(struct conn *c);

/* Called about once a second: ends what peers have held up for too long, on all connections. */
void conn_timer_look(struct conn_env *env);

#endif
