/*
 * stream_turn: the turns of a connection: reads what the socket has, feeds the protocol, makes
 * output and writes it, once per turn; what is woken from elsewhere is written at the end of the
 * turn.
 */
#ifndef H2D_CONN_STREAM_TURN_H
#define H2D_CONN_STREAM_TURN_H

#include "conn/stream_conn.h"

/* c is new: from now on the loop and the protocol drive it. */
void stream_turn_init(struct stream_conn *c);

#endif
