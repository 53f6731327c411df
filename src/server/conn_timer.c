/* conn_timer: see conn_timer.h. Ends connections by conn_drain() and conn_kill(), never by itself. */
#include "server/conn_timer.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

enum { DRAIN_ANSWER_MS = 1000 }; /* for the peer's answer to a GOAWAY notice */

void conn_timer_set(struct conn *c, uint64_t ms)
{
	timer_arm(&c->env->loop->wheel, &c->timer, clock_ms() + ms);
}

static enum proto_wait waits_for(const struct conn *c)
{
	if (outq_len(&c->out) > 0 || c->transport->ops->pending(c->transport))
		return PROTO_SEND;
	return c->proto != NULL ? c->proto->ops->waits(c->proto) : PROTO_HEADER;
}

void conn_timer_update(struct conn *c, bool progress)
{
	const struct conn_timeouts *t = &c->env->timeouts;
	uint64_t requests = c->proto != NULL ? c->proto->requests : 0;
	uint64_t body = c->proto != NULL ? c->proto->body : 0;
	enum proto_wait waits;

	if (c->state != CONN_OPEN && c->state != CONN_DRAIN)
		return;
	waits = waits_for(c);
	if (waits == c->waits && !(waits == PROTO_SEND && progress) &&
		!(waits == PROTO_BODY && body != c->waits_body) && requests == c->waits_requests && timer_armed(&c->timer) == (waits != PROTO_BUSY))
		return;
	c->waits = waits;
	c->waits_requests = requests;
	c->waits_body = body;
	switch (waits) {
	case PROTO_IDLE:
		conn_timer_set(c, c->state == CONN_DRAIN ? DRAIN_ANSWER_MS : t->keepalive);
		break;
	case PROTO_HEADER:
		conn_timer_set(c, t->header);
		break;
	case PROTO_BODY:
		conn_timer_set(c, t->body);
		break;
	case PROTO_SEND:
		conn_timer_set(c, t->send);
		break;
	case PROTO_BUSY:
		timer_disarm(&c->env->loop->wheel, &c->timer);
		break;
	}
}

static const struct err *timeout_of(const struct conn *c)
{
	if (c->state == CONN_HANDSHAKE)
		return ERR_TIMEOUT_HANDSHAKE;
	if (c->state == CONN_LINGER)
		return NULL;
	switch (c->waits) {
	case PROTO_SEND:
		return ERR_TIMEOUT_SEND;
	case PROTO_HEADER:
		return ERR_TIMEOUT_HEADER;
	case PROTO_BODY:
		return ERR_TIMEOUT_BODY;
	default:
		return ERR_TIMEOUT_IDLE;
	}
}

static void fired(struct timer *timer)
{
	struct conn *c = LIST_ENTRY(timer, struct conn, timer);
	const struct err *err = timeout_of(c);

	if (err == ERR_TIMEOUT_IDLE) {
		conn_drain(c); /* the peer is told */
		return;
	}
	if (err == ERR_TIMEOUT_HANDSHAKE)
		COUNT(handshake_failures, 1);
	if (err != NULL) {
		COUNT(timeouts, 1);
		log_at(err->level, "connection %s: %s", c->peer, err->text);
		if (c->proto != NULL && c->proto->ops->timed_out(c->proto))
			return; /* it woke the connection */
	}
	conn_kill(c);
}

void conn_timer_init(struct conn *c)
{
	timer_init(&c->timer, fired);
}
