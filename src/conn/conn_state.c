/*
 * conn_state: the table of a connection's states, and conn_go(), the one function that writes
 * c->state. Called by conn.c; it moves the counters of a step and does nothing else with the
 * connection.
 */
#include "conn/conn_state.h"

#include "base/assert.h"
#include "base/counters.h"
#include "base/log.h"
#include "conn/conn_idle.h"

static const struct {
	const char *name;
	unsigned next;
} states[CONN_STATES] = {
#define CONN_STATE(name, next, help) { #name, next },
#include "conn/conn_state.def"
};

const char *conn_state_name(enum conn_state state)
{
	return states[state].name;
}

bool conn_may_go(enum conn_state from, enum conn_state to)
{
	return states[from].next & 1u << to;
}

void conn_go(struct conn *c, enum conn_state state)
{
	H2D_ASSERT(conn_may_go(c->state, state));
	if (c->state == CONN_HANDSHAKE)
		COUNT(handshakes, -1);
	log_debug("connection %s: %s -> %s", ADDR_HOST(&c->http.peer), states[c->state].name,
		states[state].name);
	c->state = state;
	conn_idle_end(c);
}
