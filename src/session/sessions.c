/* sessions: dead ones are included until they are freed, because they hold references. */
#include "session/sessions.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"

enum {
	LEAVING_MAX = 64, /* told to leave and awaited: a dead peer does not answer */
	SILENT_MS = 1000, /* time for a peer to send its request */
	LOOKS_MAX = 64,   /* silent ones whose sockets are checked, each time */
};

void sessions_init(struct sessions *all, struct loop *loop)
{
	memset(all, 0, sizeof(*all));
	all->loop = loop;
	list_init(&all->live);
	list_init(&all->silent);
	list_init(&all->idle);
	list_init(&all->leaving);
}

void sessions_fini(struct sessions *all)
{
	H2D_ASSERT(all->nlive == 0);
}

void sessions_drain(struct sessions *all)
{
	all->draining = true;
	LIST_EACH(struct session, s, node, &all->live)
		session_drain(s);
}

void sessions_cut(struct sessions *all)
{
	all->draining = all->cutting = true;
	LIST_EACH(struct session, s, node, &all->live)
		session_kill(s);
}

void sessions_ask(struct sessions *all, struct lender *lender)
{
	LIST_EACH(struct session, s, node, &all->live)
		if (!s->ops->ask(s, lender))
			session_kill(s);
}

static void tick(struct session *s, uint64_t now_ms)
{
	const struct err *err;

	if (s->protocol == NULL || s->state == SESSION_LINGER || s->state == SESSION_DEAD)
		return;
	err = s->ops->tick(s, now_ms);
	if (err == NULL)
		return;
	COUNT(timeouts, 1);
	err_log(err, &s->http.peer);
	s->http.error = err;
	session_kill(s);
}

void sessions_tick(struct sessions *all)
{
	uint64_t now_ms = clock_ms();

	LIST_EACH(struct session, s, node, &all->live)
		tick(s, now_ms);
}

/* --- room for others -------------------------------------------------------------------------- */

/* Finds one that was told to leave, and may end without loss: it is done in both directions, else
 * idle. An idle one may have a request under way, sent before the peer knew. */
static struct session *find_leaving(const struct sessions *all)
{
	struct session *idle = NULL;

	LIST_EACH(struct session, s, idle, &all->leaving) {
		if (s->state == SESSION_LINGER || s->state == SESSION_DEAD || s->protocol == NULL)
			return s;
		if (idle == NULL && s->ops->waits(s).wait == PROTO_IDLE)
			idle = s;
	}
	return idle;
}

/*
 * True if one more may be told to leave: few are awaited, or one of those can be ended without
 * loss, which is done if end is set.
 */
static bool may_leave(const struct sessions *all, bool end)
{
	struct session *s;

	if (all->nleaving < LEAVING_MAX)
		return true;
	s = find_leaving(all);
	if (end && s != NULL)
		session_kill(s);
	return s != NULL;
}

/* The oldest without bytes for us. */
static struct session *first_silent(const struct sessions *all)
{
	struct session_look look;
	unsigned looks = 0;

	LIST_EACH(struct session, s, idle, &all->silent) {
		if (clock_ms() - s->opened_ms < SILENT_MS || looks++ == LOOKS_MAX)
			return NULL;
		/* Unread bytes may be its request: then this worker was late. */
		session_look(s, &look);
		if (look.unread == 0)
			return s;
	}
	return NULL;
}

bool sessions_may_evict(const struct sessions *all)
{
	return (!list_empty(&all->idle) && may_leave(all, false)) || first_silent(all) != NULL;
}

/* Ends it like its timer. A peer without a request need not be told. */
static void end_silent(struct session *s)
{
	const struct err *err = ERR_TIMEOUT_HEADER;

	COUNT(timeouts, 1);
	if (s->state == SESSION_HANDSHAKE) {
		COUNT(handshake_failures, 1);
		err = ERR_TIMEOUT_HANDSHAKE;
	}
	session_log_timeout(s, err);
	session_kill(s);
}

void sessions_evict(struct sessions *all)
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
