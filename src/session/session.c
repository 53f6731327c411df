/*
 * session: the life of a connection, its timeout, and session_go(), the one function that writes
 * its state. A client's number of connections is kept in its account, which all workers see by the
 * tally.
 */
#include "session/session.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "session/sessions.h"
#include "share/account.h"
#include "share/tally.h"

const struct states session_states = {
	.of = "connection",
	.rows = {
#define SESSION_STATE(name, next, help) { #name, next },
#include "session/session_state.def"
	},
};

/* --- idle or not ------------------------------------------------------------------------------ */

/* s may be idle already: its time restarts. */
static void session_idle_begin(struct session *s)
{
	struct sessions *all = s->all;

	if (s->http.admin || s->leaving || s->state != SESSION_OPEN)
		return;
	list_remove(&s->idle);
	list_append(&all->idle, &s->idle);
	if (all->full && all->gone != NULL)
		all->gone(all);
}

/* s may be busy already; without a protocol it stays silent. */
static void session_idle_end(struct session *s)
{
	if (!s->leaving && (s->protocol != NULL || s->state == SESSION_DEAD))
		list_remove(&s->idle);
}

/* --- admission -------------------------------------------------------------------------------- */

bool admission_ask(struct session *s, const struct http_env *env)
{
	const struct account *a = s->http.account;
	const struct rate *rate;
	const struct err *err = NULL;

	if (a == NULL || a->exempt || s->http.trusted || env->tally == NULL || account_is_crowd(a))
		return true;
	rate = env->sites->connections;
	if (rate != NULL && tally_take(env->tally, a->mark, rate, rate->cost_ns, clock_us()) > 0)
		err = ERR_CONNECTION_RATE;
	else if (!holding_take(&s->all->connections, s->http.account, &s->counted))
		err = ERR_CONNECTIONS;
	if (err == NULL)
		return true;
	if (env->sites->dry_run) {
		err_log_dry(err, &s->http.peer);
		return true;
	}
	err_log(err, &s->http.peer);
	return false;
}

/* --- its life --------------------------------------------------------------------------------- */

void session_go(struct session *s, enum session_state state)
{
	if (s->state == SESSION_HANDSHAKE)
		COUNT(handshakes, -1);
	log_debug("connection %s: %s -> %s", ADDR_HOST(&s->http.peer),
		states_name(&session_states, s->state), states_name(&session_states, state));
	STATES_STEP(&session_states, s->state, state);
	session_idle_end(s);
}

void session_init(struct session *s, struct sessions *all, const struct http_conn *as)
{
	s->all = all;
	s->state = SESSION_HANDSHAKE;
	s->http = *as;
	s->http.files = &s->files;
	s->http.pace = &s->pace;
	if (!as->admin)
		s->http.account = account_open(all->accounts, &as->peer);
	place_share_init(&s->files);
	s->opened_ms = clock_ms();
	list_init(&s->idle);
	if (!as->admin)
		list_append(&all->silent, &s->idle);
	list_append(&all->live, &s->node);
	all->nlive++;
	all->nadmin += as->admin;
	COUNT(connections, 1);
	COUNT(handshakes, 1);
}

void session_fini(struct session *s)
{
	struct sessions *all = s->all;

	if (s->counted)
		holding_give(&all->connections, s->http.account);
	account_close(&s->http.account);
	list_remove(&s->node);
	list_remove(&s->idle);
	all->nlive--;
	all->nleaving -= s->leaving;
	all->nadmin -= s->http.admin;
	COUNT(connections, -1);
	if (all->draining && !s->http.admin && all->cutting)
		COUNT(connections_cut, 1);
	else if (all->draining && !s->http.admin)
		COUNT(connections_drained, 1);
	if (all->gone != NULL)
		all->gone(all);
}

void session_open(struct session *s)
{
	session_go(s, SESSION_OPEN);
	/* A client in its handshake still gets an answer to its first request. */
	if (s->all->draining)
		session_drain(s);
}

void session_drain(struct session *s)
{
	/* A draining worker does not wait for a connection; one evicted or idle for too long has
	 * had its time. */
	bool patient = s->all->draining && s->state == SESSION_OPEN;

	if (s->state == SESSION_OPEN)
		session_go(s, SESSION_DRAIN);
	else if (s->state != SESSION_DRAIN)
		return;
	timer_disarm(&s->all->loop->wheel, &s->timer);
	s->ops->drain(s, patient);
}

void session_kill(struct session *s)
{
	if (s->state == SESSION_DEAD)
		return;
	s->ops->kill(s);
	session_go(s, SESSION_DEAD);
	timer_disarm(&s->all->loop->wheel, &s->timer);
}

/* --- its timeout ------------------------------------------------------------------------------ */

void session_timer_set(struct session *s, uint64_t ms)
{
	timer_arm(&s->all->loop->wheel, &s->timer, clock_ms() + ms);
}

/* Milliseconds for the need of s; one without the peer's part has no timeout. */
static uint64_t timeout_ms(const struct session *s)
{
	const struct http_timeouts *t = &s->http.timeouts;

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
	uint64_t n = now.passed > s->need.passed ? now.passed - s->need.passed : 0;
	uint64_t ms = now.wait == PROTO_SEND ? s->http.timeouts.send : s->http.timeouts.body;

	return (now.wait == PROTO_SEND || now.wait == PROTO_BODY) &&
	       n >= ms * PROTO_LEAST_RATE / 1000;
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
	session_timer_set(s, s->http.timeouts.handshake);
}

/* --- for operators ---------------------------------------------------------------------------- */

static const char *waits_for(const struct session *s, const struct session_need *need)
{
	static const char *const of_state[SESSION_STATES] = {
		[SESSION_HANDSHAKE] = "the handshake",
		[SESSION_LINGER] = "the peer's end",
		[SESSION_DEAD] = "nothing",
	};
	static const char *const of_need[] = {
		[PROTO_IDLE] = "a request",
		[PROTO_HEADER] = "the header section",
		[PROTO_BODY] = "the request body",
		[PROTO_BUSY] = "its requests",
		[PROTO_SEND] = "the peer to read",
		[PROTO_OVER] = "its end",
	};

	return of_state[s->state] != NULL ? of_state[s->state] : of_need[need->wait];
}

/* Milliseconds until its timer fires. */
static uint64_t left_ms(const struct session *s, uint64_t now_ms)
{
	if (!timer_armed(&s->timer))
		return UINT64_MAX;
	return s->timer.at > now_ms ? s->timer.at - now_ms : 0;
}

void session_look(const struct session *s, struct session_look *look)
{
	uint64_t now_ms = clock_ms();
	struct session_need need = s->ops->waits(s);

	*look = (struct session_look){
		.peer = &s->http.peer,
		.subject = s->http.client_subject,
		.protocol = s->protocol,
		.state = states_name(&session_states, s->state),
		.waits_for = waits_for(s, &need),
		.left_ms = left_ms(s, now_ms),
		.age_ms = now_ms - s->opened_ms,
		.requests = need.requests,
		.admin = s->http.admin,
		.leaving = s->leaving,
	};
	s->ops->look(s, look);
	for (unsigned i = 0; i < PROTO_WHYS; i++)
		look->streams += look->told.why[i];
}

void session_log_timeout(const struct session *s, const struct err *err)
{
	struct session_look look;

	session_look(s, &look);
	/* Browsers open connections that they may need, and load balancers to check for a
	 * listener. */
	if (look.heard)
		err_log(err, &s->http.peer);
	else
		err_log_silent(err, &s->http.peer);
}
