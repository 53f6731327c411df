/*
 * conn_state: the steps a connection may take (conn_state.def), and the one way to take them. A
 * step that is not in the table is our bug, and asserts.
 */
#ifndef H2D_CONN_CONN_STATE_H
#define H2D_CONN_CONN_STATE_H

#include "base/states.h"
#include "conn/conn.h"

extern const struct states conn_states;

/* Takes the step; c is idle no more. */
void conn_go(struct conn *c, enum conn_state state);

#endif
