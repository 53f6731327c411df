/* session_timer: asks the kind for a session's need, and sets its timeout. */
#include "session/sessions.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

void session_timer_set(struct session *s, uint64_t ms)
{
	timer_arm(&s->all->loop->wheel, &s->timer, clock_ms() + ms);
}

/* Milliseconds for the need of s; one without the peer's part has no timeout. */
static uint64_t timeout_ms(const struct session *s)
{
	const struct session_timeouts *t = &s->all->timeouts;

	switch (s->need.wait) {
	case PROTO_IDLE:
		return s->state == SESSION_DRAIN ? s->drain_ms : t->keepalive;
	case PROTO_HEADER:
		return t->header;
	case PROTO_BODY:
		return t->body;
	case PROTO_SEND:
		return t->send;
	default:
		return UINT64_MAX;
	}
}

/* True: the least rate's bytes have passed since the timer was set. */
static bool progress(const struct session *s, struct session_need now)
{
	const struct session_timeouts *t = &s->all->timeouts;
	uint64_t n = now.passed > s->need.passed ? now.passed - s->need.passed : 0;

	if (now.wait == PROTO_SEND)
		return n >= t->send * PROTO_LEAST_RATE / 1000;
	return now.wait == PROTO_BODY && n >= t->body * PROTO_LEAST_RATE / 1000;
}

/* True: the timer stays set. For output, only the bytes taken by the peer count. */
static bool goes_on(const struct session *s, struct session_need now)
{
	return now.wait == s->need.wait &&
	       (now.requests == s->need.requests || now.wait == PROTO_SEND) && !progress(s, now) &&
	       timer_armed(&s->timer) == (now.wait != PROTO_BUSY);
}

void session_timer_update(struct session *s)
{
	struct session_need now;

	if (!session_speaks(s))
		return;
	now = s->ops->waits(s);
	if (goes_on(s, now))
		return;
	s->need = now;
	if (now.wait != PROTO_IDLE && (now.wait != PROTO_HEADER || now.requests > 1))
		session_idle_end(s);
	if (now.wait == PROTO_BUSY)
		timer_disarm(&s->all->loop->wheel, &s->timer);
	else
		session_timer_set(s, timeout_ms(s));
	if (now.wait == PROTO_IDLE)
		session_idle_begin(s);
}

static const struct err *timeout_of(const struct session *s)
{
	if (s->state == SESSION_HANDSHAKE)
		return ERR_TIMEOUT_HANDSHAKE;
	if (s->state == SESSION_LINGER)
		return NULL;
	switch (s->need.wait) {
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

/* True: the peer has taken the awaited bytes, without an event. */
static bool went_on(struct session *s)
{
	struct session_need now;

	if (!session_speaks(s) || s->need.wait != PROTO_SEND)
		return false;
	now = s->ops->waits(s);
	if (!progress(s, now))
		return false;
	s->need = now;
	session_timer_set(s, timeout_ms(s));
	return true;
}

static void session_timer_fired(struct timer *timer)
{
	struct session *s = LIST_ENTRY(timer, struct session, timer);
	const struct err *err = timeout_of(s);

	if (went_on(s))
		return;
	if (err == ERR_TIMEOUT_IDLE) {
		COUNT(timeout_keepalive, 1);
		session_drain(s); /* the peer is told */
		return;
	}
	if (err == ERR_TIMEOUT_HANDSHAKE)
		COUNT(handshake_failures, 1);
	if (err != NULL) {
		COUNT(timeouts, 1);
		session_log_timeout(s, err);
		s->http.error = err;
		if (s->protocol != NULL && s->ops->timed_out(s))
			return; /* it woke the session */
	}
	session_kill(s);
}

void session_timer_init(struct session *s)
{
	timer_init(&s->timer, session_timer_fired);
	session_timer_set(s, s->all->timeouts.handshake);
}
