/*
 * handshakes: checks for slow ones when another begins, without a timer: without new clients the
 * room is not needed.
 */

#include <sys/ioctl.h>

#include "base/clock.h"
#include "conn/stream_conn.h"

enum {
	LEAST = 16, /* of a client, whatever the others have */
	PART = 1,   /* and half of the rest */
	FRESH_MS = 1000,
	PER_CALL = 64, /* keeps a turn of the loop short */
};

void handshakes_init(struct handshakes *h, unsigned max)
{
	budget_init(&h->budget, ACCOUNT_HANDSHAKES, max, LEAST, PART);
	list_init(&h->fresh);
	list_init(&h->slow);
}

static struct stream_conn *oldest(const struct list *l)
{
	return LIST_ENTRY(l->next, struct stream_conn, shaking);
}

static void handshakes_refuse(struct stream_conn *c)
{
	err_log(ERR_HANDSHAKES, &c->session.http.peer);
	session_kill(&c->session);
}

/* True: its second is over, and h2d does not delay it. */
static bool is_slow(const struct stream_conn *c)
{
	int unread = 0;

	return clock_ms() - c->session.opened_ms >= FRESH_MS &&
	       ioctl(c->transport->fd, FIONREAD, &unread) == 0 && unread == 0;
}

static void take_place(struct handshakes *h, struct stream_conn *c)
{
	if (h->budget.held >= h->budget.max)
		handshakes_refuse(oldest(&h->slow));
	if (budget_room(&h->budget, c->session.http.account) == 0) {
		handshakes_refuse(c);
		return;
	}
	budget_take(&h->budget, c->session.http.account, 1);
	stream_set(c, STREAM_SLOW);
	list_remove(&c->shaking);
	list_append(&h->slow, &c->shaking);
}

void handshakes_go(struct stream_conn *c)
{
	struct handshakes *h = &c->env->handshakes;

	if (c->session.http.tls != HTTP_TLS_OURS || c->session.http.admin ||
		list_linked(&c->shaking))
		return;
	for (int i = 0; i < PER_CALL && !list_empty(&h->fresh) && is_slow(oldest(&h->fresh)); i++)
		take_place(h, oldest(&h->fresh));
	list_append(&h->fresh, &c->shaking);
}

void handshakes_end(struct stream_conn *c)
{
	if (!list_linked(&c->shaking))
		return;
	list_remove(&c->shaking);
	if (!stream_is(c, STREAM_SLOW))
		return;
	stream_clear(c, STREAM_SLOW);
	budget_give(&c->env->handshakes.budget, c->session.http.account, 1);
}
