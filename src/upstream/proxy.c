/*
 * proxy: the handler of locations with a proxy (key proxy): it begins an exchange with the request,
 * and hands on what happens to it: a link, its events, the body, time. Called by the request core.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "request/req_client.h"
#include "upstream/exchange.h"

/* --- time ------------------------------------------------------------------------------------- */

static void proxy_fires(struct timer *t)
{
	struct exchange *x = LIST_ENTRY(t, struct exchange, timer);

	if (x->state == EXCHANGE_LINE) {
		exchange_leave(x, false, EXCHANGE_OVER);
		reply_later(x->req, ERR_UPSTREAM_QUEUE, 1000);
	} else if (x->state == EXCHANGE_HEAD && x->expects) {
		x->expects = false;
		req_body_draw(x->req);
		exchange_send(x);
	} else {
		if (x->state == EXCHANGE_CONNECT)
			link_fails(x->turn.link);
		exchange_fail(x, ERR_UPSTREAM_TIMEOUT, NULL);
	}
}

/* --- the link --------------------------------------------------------------------------------- */

static void proxy_connected(struct exchange *x)
{
	exchange_go(x, EXCHANGE_HEAD);
	exchange_out_begin(x);
	exchange_in_begin(x);
	if (!x->expects && x->req->upgrade.n == 0)
		req_body_draw(x->req);
	exchange_send(x);
}

/* False: it is not connected, or not yet. */
static bool proxy_connects(struct exchange *x)
{
	int rc = x->turn.link->used ? 0 : link_connected(x->turn.link);

	if (rc == -EINPROGRESS)
		return false;
	if (rc < 0) {
		link_fails(x->turn.link);
		exchange_fail(x, ERR_UPSTREAM_CONNECT, strerror(-rc));
		return false;
	}
	proxy_connected(x);
	return true;
}

static void on_link(struct link_turn *t)
{
	struct exchange *x = LIST_ENTRY(t, struct exchange, turn);

	exchange_go(x, EXCHANGE_CONNECT);
	if (t->link != NULL)
		proxy_connects(x);
	else
		exchange_fail(x, ERR_UPSTREAM_CONNECT, errno != 0 ? strerror(errno) : NULL);
}

static void on_event(struct link_turn *t, uint32_t events)
{
	struct exchange *x = LIST_ENTRY(t, struct exchange, turn);

	if (x->state == EXCHANGE_CONNECT && !proxy_connects(x))
		return;
	if (events & EPOLLOUT)
		exchange_send(x);
	if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return;
	x->readable = true;
	x->ends |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	if (x->state == EXCHANGE_HEAD)
		exchange_read(x);
	else if (x->later)
		req_resume(x->req);
}

/* --- the request ------------------------------------------------------------------------------ */

static void on_flush(struct task *t)
{
	exchange_send(LIST_ENTRY(t, struct exchange, flush));
}

/* More of the body came, or its end. */
static void on_body(struct h2d_req *req)
{
	struct exchange *x = req->hook_state;

	if (x->state >= EXCHANGE_HEAD && x->state <= EXCHANGE_TUNNEL && !x->expects)
		loop_at_turn_end(req->env->loop, &x->flush);
}

static const struct req_hook hook = { .duplex = true, .body = on_body };

static bool expects_continue(const struct h2d_req *req)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("expect"));

	return f != NULL && req->has_body && slice_ieq(f->value, SLICE("100-continue")) &&
	       !slice_eq(req->protocol, SLICE("HTTP/1.0"));
}

static void start(struct h2d_req *req, void *state)
{
	struct exchange *x = state;

	x->req = req;
	x->proxy = req->location->proxy;
	x->chunked = req->has_body && req->body_length == BODY_UNKNOWN && req->upgrade.n == 0;
	x->expects = expects_continue(req);
	timer_init(&x->timer, proxy_fires);
	task_init(&x->flush, on_flush);
	link_turn_init(&x->turn, req->env->upstreams, x->proxy, req_account(req));
	x->turn.linked = on_link;
	x->turn.event = on_event;
	if (!ask_may_pass(req)) {
		exchange_go(x, EXCHANGE_OVER);
		req_fault(req, ERR_BAD_PATH);
		reply_error(req, ERR_BAD_PATH->status);
		return;
	}
	x->head = ask_head(x);
	if (x->head.p == NULL) {
		exchange_go(x, EXCHANGE_OVER);
		reply_no_memory(req, req->head_size);
		return;
	}
	if (req->body_state == REQ_BODY_NONE) /* files had the request first */
		req_body_take(req);
	req_hook(req, &hook, x);
	exchange_join(x);
}

static void gone(struct h2d_req *req, void *state)
{
	struct exchange *x = state;

	(void)req;
	if (x->state < EXCHANGE_OVER)
		exchange_leave(x, false, EXCHANGE_OVER);
	exchange_in_end(x);
}

const struct h2d_handler upstream_handler = {
	.name = "proxy",
	.state_size = sizeof(struct exchange),
	.start = start,
	.gone = gone,
};
