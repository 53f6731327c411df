/*
 * conn_linger: the end of a connection whose last bytes are under way: it has sent its own end and
 * waits for the peer's, reading and dropping what still comes, because a close with something
 * unread is a reset, which destroys what the peer has not read. For conn/conn.c only.
 */
#ifndef H2D_CONN_CONN_LINGER_H
#define H2D_CONN_CONN_LINGER_H

#include "conn/conn.h"

/* Everything is written: its own end is sent, and the wait begins. c reads on. */
void conn_linger_begin(struct conn *c);

/* n bytes of the peer's were dropped. */
void conn_linger_dropped(struct conn *c, size_t n);

#endif
