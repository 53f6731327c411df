/*
 * session_idle: keeps the lists of silent and of idle sessions, and takes the first one off when a
 * worker is full. session, session_timer and worker_room call it; it ends sessions by
 * session_drain() and session_kill(), and never closes or frees one itself.
 */
#include "session/session_idle.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

enum {
	LEAVING_MAX = 64, /* told to leave and waited for: a peer that is gone does not answer */
	SILENT_MS = 1000, /* within which a peer that means to ask has asked */
	LOOKS_MAX = 64,   /* silent ones whose sockets are looked at, each time */
};

void session_idle_opened(struct session *s)
{
	list_init(&s->idle);
	if (!s->http.admin)
		list_append(&s->all->silent, &s->idle);
}

void session_idle_begin(struct session *s)
{
	struct sessions *all = s->all;

	if (s->http.admin || s->leaving || s->state != SESSION_OPEN)
		return;
	list_remove(&s->idle);
	list_append(&all->idle, &s->idle);
	if (all->full && all->gone != NULL)
		all->gone(all);
}

void session_idle_end(struct session *s)
{
	if (!s->leaving && (s->protocol != NULL || s->state == SESSION_DEAD))
		list_remove(&s->idle);
}

/* Whether s, which leaves, has nothing more to say or to be told. */
static bool is_done(const struct session *s)
{
	return s->state == SESSION_DEAD || s->state == SESSION_LINGER;
}

/* A request may be under way on one that leaves: it came before the peer knew. */
static bool is_idle(const struct session *s)
{
	return s->protocol == NULL || s->ops->waits(s).wait == PROTO_IDLE;
}

static struct session *find_leaving(const struct sessions *all, bool (*is)(const struct session *s))
{
	LIST_FOREACH(node, &all->leaving) {
		struct session *s = LIST_ENTRY(node, struct session, idle);

		if (is(s))
			return s;
	}
	return NULL;
}

/*
 * Whether one more may be told to leave: few are waited for, or one of those can be ended without
 * loss, which is done if end is set.
 */
static bool may_leave(const struct sessions *all, bool end)
{
	struct session *s;

	if (all->nleaving < LEAVING_MAX)
		return true;
	s = find_leaving(all, is_done);
	if (s == NULL)
		s = find_leaving(all, is_idle);
	if (end && s != NULL)
		session_kill(s);
	return s != NULL;
}

/* Bytes that nobody has read may be its request: then it is this worker that was late. */
static bool has_unread(const struct session *s)
{
	struct session_look look;

	session_look(s, &look);
	return look.unread > 0;
}

/* The eldest that has nothing under way to us. */
static struct session *first_silent(const struct sessions *all)
{
	unsigned looks = 0;

	LIST_FOREACH(node, &all->silent) {
		struct session *s = LIST_ENTRY(node, struct session, idle);

		if (clock_ms() - s->opened_ms < SILENT_MS || looks++ == LOOKS_MAX)
			return NULL;
		if (!has_unread(s))
			return s;
	}
	return NULL;
}

bool session_idle_any(const struct sessions *all)
{
	return (!list_empty(&all->idle) && may_leave(all, false)) || first_silent(all) != NULL;
}

void session_idle_timed_out(const struct session *s, const struct err *err)
{
	struct session_look look;

	session_look(s, &look);
	/* Browsers open connections that they may need, and balancers to see whether anybody
	 * listens. */
	if (look.heard)
		err_log(err, &s->http.peer);
	else
		err_log_silent(err, &s->http.peer);
}

/* As its timer would later. A peer that has asked for nothing need not be told. */
static void end_silent(struct session *s)
{
	const struct err *err = ERR_TIMEOUT_HEADER;

	COUNT(timeouts, 1);
	if (s->state == SESSION_HANDSHAKE) {
		COUNT(handshake_failures, 1);
		err = ERR_TIMEOUT_HANDSHAKE;
	}
	session_idle_timed_out(s, err);
	session_kill(s);
}

void session_idle_evict(struct sessions *all)
{
	struct session *s = first_silent(all);

	if (s != NULL) {
		end_silent(s);
		return;
	}
	if (list_empty(&all->idle) || !may_leave(all, true))
		return;
	s = LIST_ENTRY(list_pop(&all->idle), struct session, idle);
	s->leaving = true;
	list_append(&all->leaving, &s->idle);
	all->nleaving++;
	session_drain(s);
}
