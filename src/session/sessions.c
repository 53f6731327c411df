/*
 * sessions: walks the connections of a worker. Those that are dead and not freed are among them,
 * for they hold references until then. It reads no field of a request, and closes nothing itself.
 */
#include "session/sessions.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

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
	LIST_FOREACH(node, &all->live)
		session_drain(LIST_ENTRY(node, struct session, node));
}

void sessions_cut(struct sessions *all)
{
	all->draining = all->cutting = true;
	LIST_FOREACH(node, &all->live)
		session_kill(LIST_ENTRY(node, struct session, node));
}

void sessions_ask(struct sessions *all, struct lender *lender)
{
	LIST_FOREACH(node, &all->live) {
		struct session *s = LIST_ENTRY(node, struct session, node);

		if (!s->ops->ask(s, lender))
			session_kill(s);
	}
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

	LIST_FOREACH(node, &all->live)
		tick(LIST_ENTRY(node, struct session, node), now_ms);
}
