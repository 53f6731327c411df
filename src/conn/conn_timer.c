/*
 * conn_timer: computes which timeout a connection is under and handles its end. conn/conn.c
 * calls it after each turn and the worker once a second; it ends connections by conn_drain() and
 * conn_kill(), and never closes or frees anything itself.
 */
#include "conn/conn_timer.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "conn/conn_idle.h"

void conn_timer_set(struct conn *c, uint64_t ms)
{
	timer_arm(&c->env->loop->wheel, &c->timer, clock_ms() + ms);
}

static enum proto_wait waits_for(const struct conn *c)
{
	enum proto_wait waits;

	if (outq_len(&c->out) > 0 || c->transport->ops->pending(c->transport))
		return PROTO_SEND;
	waits = c->proto != NULL ? c->proto->ops->waits(c->proto) : PROTO_HEADER;
	/* What its windows hold up, the protocol looks at itself. */
	return waits == PROTO_SEND ? PROTO_BUSY : waits;
}

/* Bytes that have passed, of what is waited for. */
static uint64_t passed(const struct conn *c, enum proto_wait waits)
{
	if (waits == PROTO_SEND)
		return c->taken;
	return waits == PROTO_BODY ? c->proto->body : 0;
}

/* As much as the least rate demands has passed since the timer was set. */
static bool progress(const struct conn *c)
{
	const struct conn_timeouts *t = &c->env->timeouts;
	uint64_t n = passed(c, c->waits) - c->waits_from;

	if (c->waits == PROTO_SEND)
		return n >= t->send * PROTO_LEAST_RATE / 1000;
	return c->waits == PROTO_BODY && n >= t->body * PROTO_LEAST_RATE / 1000;
}

void conn_timer_update(struct conn *c)
{
	const struct conn_timeouts *t = &c->env->timeouts;
	uint64_t requests = c->proto != NULL ? c->proto->requests : 0;
	enum proto_wait waits;

	if (c->state != CONN_OPEN && c->state != CONN_DRAIN)
		return;
	waits = waits_for(c);
	/* What the peer takes in time counts alone where it is waited for. */
	if (waits == c->waits && !progress(c) &&
		(requests == c->waits_requests || waits == PROTO_SEND) &&
		timer_armed(&c->timer) == (waits != PROTO_BUSY))
		return;
	c->waits = waits;
	c->waits_requests = requests;
	c->waits_from = passed(c, waits);
	if (waits != PROTO_IDLE && (waits != PROTO_HEADER || requests > 1))
		conn_idle_end(c);
	switch (waits) {
	case PROTO_IDLE:
		conn_timer_set(c, c->state == CONN_DRAIN ? c->proto->ops->drain_ms : t->keepalive);
		conn_idle_begin(c);
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
		COUNT(timeout_keepalive, 1);
		conn_drain(c); /* the peer is told */
		return;
	}
	if (err == ERR_TIMEOUT_HANDSHAKE)
		COUNT(handshake_failures, 1);
	if (err != NULL) {
		COUNT(timeouts, 1);
		conn_idle_timed_out(c, err);
		c->http.error = err;
		if (c->proto != NULL && c->proto->ops->timed_out(c->proto))
			return; /* it woke the connection */
	}
	conn_kill(c);
}

static void look(struct conn *c, uint64_t now_ms)
{
	const struct err *err;

	if (c->proto == NULL || c->proto->ops->look == NULL || c->state == CONN_LINGER ||
		c->state == CONN_DEAD)
		return;
	err = c->proto->ops->look(c->proto, now_ms);
	if (err == NULL)
		return;
	COUNT(timeouts, 1);
	err_log(err, &c->http.peer);
	c->http.error = err;
	conn_kill(c);
}

void conn_timer_look(struct conn_env *env)
{
	uint64_t now_ms = clock_ms();

	LIST_FOREACH(node, &env->live)
		look(LIST_ENTRY(node, struct conn, node), now_ms);
}

void conn_timer_init(struct conn *c)
{
	timer_init(&c->timer, fired);
}
