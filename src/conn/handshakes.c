/*
 * handshakes: counts each by the account of its client. Whoever is refused has cost an accept(2)
 * and a close(2), and no byte of it was read.
 */
#include "conn/handshakes.h"

#include <sys/ioctl.h>

#include "base/clock.h"
#include "conn/stream_conn.h"

enum {
	LEAST = 16, /* of a client, whatever the others have */
	PART = 1,   /* and half of what is left */
	STILL_MS = 1000,
};

void handshakes_init(struct handshakes *h, unsigned max)
{
	budget_init(&h->budget, ACCOUNT_HANDSHAKES, max, LEAST, PART);
	list_init(&h->live);
}

static void refuse(struct stream_conn *c)
{
	err_log(ERR_HANDSHAKES, &c->session.http.peer);
	session_kill(&c->session);
}

/* It has had its second, and it is not h2d that makes it wait. */
static bool stands_still(const struct stream_conn *c)
{
	int unread = 0;

	return clock_ms() - c->session.opened_ms >= STILL_MS &&
	       ioctl(c->transport->fd, FIONREAD, &unread) == 0 && unread == 0;
}

static void make_room(struct handshakes *h)
{
	struct stream_conn *oldest;

	if (h->budget.held < h->budget.max || list_empty(&h->live))
		return;
	oldest = LIST_ENTRY(h->live.next, struct stream_conn, shaking);
	if (stands_still(oldest))
		refuse(oldest);
}

bool handshakes_go(struct stream_conn *c)
{
	struct handshakes *h = &c->env->handshakes;
	struct http_conn *http = &c->session.http;

	if (http->tls != HTTP_TLS_OURS || http->admin || list_linked(&c->shaking))
		return true;
	make_room(h);
	if (budget_room(&h->budget, http->account) == 0) {
		refuse(c);
		return false;
	}
	budget_take(&h->budget, http->account, 1);
	list_append(&h->live, &c->shaking);
	return true;
}

void handshakes_end(struct stream_conn *c)
{
	if (!list_linked(&c->shaking))
		return;
	list_remove(&c->shaking);
	budget_give(&c->env->handshakes.budget, c->session.http.account, 1);
}
