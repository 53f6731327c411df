/*
 * conn_state: the table of a connection's states, and conn_go(), the one function that writes
 * c->state. Called by conn.c; it moves the counters of a step and does nothing else with the
 * connection.
 */
#include "conn/conn_state.h"

#include "base/counters.h"
#include "base/log.h"
#include "conn/conn_idle.h"

const struct states conn_states = {
	.of = "connection",
	.n = CONN_STATES,
	.rows = {
#define CONN_STATE(name, next, help) { #name, next },
#include "conn/conn_state.def"
	},
};

void conn_go(struct conn *c, enum conn_state state)
{
	STATES_STEP(&conn_states, c->state, state);
	if (c->state == CONN_HANDSHAKE)
		COUNT(handshakes, -1);
	log_debug("connection %s: %s -> %s", ADDR_HOST(&c->http.peer),
		states_name(&conn_states, c->state), states_name(&conn_states, state));
	c->state = state;
	conn_idle_end(c);
}
