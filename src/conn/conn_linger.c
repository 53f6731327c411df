/*
 * conn_linger: how long the peer is waited for, and how much of a flood. The timer ends it, or the
 * peer does; conn.c kills the connection then.
 */
#include "conn/conn_linger.h"

#include "base/clock.h"
#include "conn/conn_state.h"
#include "conn/conn_timer.h"

enum {
	QUIET_MS = 2000,  /* without a byte of the peer's */
	WHOLE_MS = 30000, /* in all */
	BYTES_MAX = 16 << 20,
};

void conn_linger_begin(struct conn *c)
{
	input_backlog_clear(&c->held);
	conn_go(c, CONN_LINGER);
	c->linger_end_ms = clock_ms() + WHOLE_MS;
	c->lingered = 0;
	conn_timer_set(c, QUIET_MS);
}

/* Who goes on sending a body that was refused reads the answer behind it; but not all of a flood is
 * waited for. */
void conn_linger_dropped(struct conn *c, size_t n)
{
	c->lingered += n;
	if (!c->env->draining && c->lingered <= BYTES_MAX &&
		clock_ms() + QUIET_MS <= c->linger_end_ms)
		conn_timer_set(c, QUIET_MS);
}
