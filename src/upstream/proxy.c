/*
 * proxy: the handler of locations with a proxy (key proxy). It begins an exchange with the request,
 * hands on what happens to it, and takes the response: bytes are read when the protocol asks for
 * content, into one buffer, which the connection's outq borrows. So a slow client stops the
 * reading, and a response that waits for its peer has no buffer. Called by the request core.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/pool.h"
#include "request/req_client.h"
#include "request/req_field.h"
#include "upstream/exchange.h"

enum { BUF_BYTES = 32 << 10, BUFS_KEPT = 32 };

struct exchange_buf {
	struct ref ref;
	uint8_t bytes[BUF_BYTES];
};

static struct pool blocks = { .size = OUTQ_BLOCK, .keep = BUFS_KEPT };
static struct pool bufs = { .size = sizeof(struct exchange_buf), .keep = BUFS_KEPT };

static void buf_release(struct ref *ref)
{
	pool_put(&bufs, ref);
}

static void drop_buf(struct exchange *x)
{
	if (x->buf != NULL)
		ref_put(&x->buf->ref);
	x->buf = NULL;
}

/* True while its link has bytes for it. */
static bool is_connected(const struct exchange *x)
{
	return x->state >= EXCHANGE_HEAD && x->state <= EXCHANGE_TUNNEL;
}

/* The response is complete; content may wait for the client. more: bytes came behind it. */
static void exchange_over(struct exchange *x, bool more)
{
	const struct h2d_req *req = x->req;
	/* The last byte may come before the end. What came after DRAWN was dropped. */
	bool ended = x->ended || (req->body_state == REQ_BODY_DRAWN && req->body_queue.n == 0 &&
					 req->record.bytes_in == req->body_length);
	bool whole = ended && !x->deaf && !x->ends && outq_len(&x->out) == 0;

	if (more)
		log_peer(LEVEL_WARN,
			"upstream %.*s: bytes behind a response; closing the connection",
			SLICE_ARG(link_name(&x->turn)));
	/* readable: more may be in the socket, of which no event would tell an idle link. */
	exchange_leave(x, whole && x->in.keep && !more && !x->readable, EXCHANGE_OVER);
}

/* Reads into the buffer, which has no content. The number of bytes; 0: none for now, or no more. */
static size_t receive(struct exchange *x)
{
	ssize_t n;

	if (!x->readable)
		return 0;
	if (x->buf != NULL && x->buf->ref.count > 1) /* the outq still has some of it */
		drop_buf(x);
	if (x->buf == NULL) {
		x->buf = pool_get(&bufs);
		if (x->buf == NULL) {
			exchange_fail(x, ERR_NO_MEMORY, NULL);
			return 0;
		}
		ref_init(&x->buf->ref, buf_release);
	}
	n = recv(x->turn.link->watch.fd, x->buf->bytes, BUF_BYTES, 0);
	/* An event tells when there is more (epoll(7), question 9). */
	x->readable = n == BUF_BYTES || x->ends;
	if (n > 0)
		return (size_t)n;
	if (n == 0 && response_eof(&x->in) == RESPONSE_END)
		exchange_over(x, false);
	else if (n == 0 || errno != EAGAIN)
		exchange_fail(x, ERR_UPSTREAM_RESET, n == 0 ? x->in.fault : strerror(errno));
	return 0;
}

/* --- what comes ------------------------------------------------------------------------------- */

/* False: memory is out. */
static bool take_fields(struct exchange *x, bool connects)
{
	for (unsigned i = 0; i < x->in.nfields; i++) {
		const struct field *f = &x->in.fields[i];

		/* A client of extended CONNECT has sent no key (RFC 8441, 5.1). */
		if (connects && slice_eq(f->name, SLICE("sec-websocket-accept")))
			continue;
		if (reply_set(x->req, f->name, f->value) < 0)
			return false;
	}
	return true;
}

/* The protocols are switched: what the client sends from now on is for the peer. */
static void open_tunnel(struct exchange *x)
{
	struct h2d_req *req = x->req;

	exchange_go(x, EXCHANGE_TUNNEL);
	x->ended = false;
	req->upgrade = x->in.upgrade;
	req->body_queue.ended = false;
	req->body_left = UINT64_MAX;
	req->stream->tunnel(req);
	req_body_draw(req);
	loop_at_turn_end(req->env->loop, &x->flush); /* some of it may be there */
}

/* The peer gets the body, for which it was asked. */
static void exchange_draw(struct exchange *x)
{
	x->expects = false;
	req_body_draw(x->req);
	exchange_send(x);
}

/* A head is complete. */
static void take_head(struct exchange *x)
{
	struct h2d_req *req = x->req;
	bool connects = slice_eq(req->method_text, SLICE("CONNECT"));
	int status = x->in.status;
	unsigned n = x->in.nfields;

	if (status == 100) {
		if (x->expects)
			exchange_draw(x);
	} else if (status < 200 && status != 101) {
		req->stream->interim(req, status, x->in.fields,
			n < STREAM_INTERIM_FIELDS_MAX ? n : STREAM_INTERIM_FIELDS_MAX);
	} else if (status == 101 && !slice_ieq(x->in.upgrade, req->upgrade)) {
		exchange_fail(x, ERR_UPSTREAM_RESPONSE, "101 to another protocol");
	} else if (status / 100 == 2 && connects) {
		exchange_fail(x, ERR_UPSTREAM_RESPONSE, "no 101 to a WebSocket");
	} else if (!take_fields(x, connects)) {
		exchange_fail(x, ERR_NO_MEMORY, NULL);
	} else {
		link_counts(&x->turn, NULL, false);
		if (status == 101)
			open_tunnel(x);
		else
			exchange_go(x, EXCHANGE_CONTENT);
	}
}

/* Takes n bytes of the buffer: pieces of content are moved together. */
static void decode(struct exchange *x, size_t n)
{
	const uint8_t *data = x->buf->bytes, *end = data + n;
	struct slice piece;

	while (is_connected(x)) {
		switch (response_next(&x->in, &data, end, &piece)) {
		case RESPONSE_MORE:
			return;
		case RESPONSE_HEAD:
			take_head(x);
			break;
		case RESPONSE_DATA:
			if (x->content.n == 0)
				x->content.p = piece.p;
			else
				memmove((char *)(uintptr_t)x->content.p + x->content.n, piece.p,
					piece.n);
			x->content.n += piece.n;
			break;
		case RESPONSE_END:
			exchange_over(x, data < end);
			break;
		case RESPONSE_FAULT:
			exchange_fail(x, ERR_UPSTREAM_RESPONSE, x->in.fault);
			break;
		}
	}
}

/* Takes what came, up to content. */
static void exchange_read(struct exchange *x)
{
	while (x->content.n == 0 && is_connected(x)) {
		size_t n = receive(x);

		if (n == 0)
			break;
		decode(x, n);
	}
	x->later = false;
	if (x->content.n == 0)
		drop_buf(x);
	if (is_connected(x)) {
		x->later = x->content.n == 0 && x->req->reply.ready;
		exchange_wait(x);
	}
}

/* --- content ---------------------------------------------------------------------------------- */

static ssize_t content_ready(struct body *b, size_t want)
{
	struct exchange *x = b->src;

	exchange_read(x);
	if (x->content.n > 0)
		return (ssize_t)(x->content.n < want ? x->content.n : want);
	if (is_connected(x))
		return BODY_LATER;
	req_body_over(x->req);
	if (x->state == EXCHANGE_BROKEN)
		return BODY_FAILED;
	b->left = 0;
	b->trailers = x->in.trailers;
	return 0;
}

static int content_emit(struct body *b, size_t n, struct outq *q)
{
	struct exchange *x = b->src;
	const char *p = x->content.p;

	slice_skip(&x->content, n);
	if (b->left != BODY_UNKNOWN)
		b->left -= n;
	if (b->left == 0)
		req_body_over(x->req);
	return outq_borrow(q, p, n, &x->buf->ref);
}

static const struct body_ops content_ops = {
	.name = "proxy",
	.ready = content_ready,
	.emit = content_emit,
};

/* Replies, once what came with the head is taken: the protocol needs to know whether content, and
 * the body, go on. A client that still waits for 100 keeps its body. */
static void exchange_answer(struct exchange *x)
{
	struct h2d_req *req = x->req;
	int status = x->in.status;

	req->reply.body =
		(struct body){ .ops = &content_ops, .req = req, .left = x->in.length, .src = x };
	if (status == 101)
		status = 200;
	else
		coded_begin(req, status);
	if (is_connected(x) && !x->ended && req->body_state == REQ_BODY_DRAWN)
		reply_send_duplex(req, status);
	else
		reply_send(req, status);
	if (x->state == EXCHANGE_TUNNEL && req->reply.status / 100 == 5)
		exchange_fail(x, ERR_UPSTREAM_RESPONSE, "response headers too long");
}

/* --- events ----------------------------------------------------------------------------------- */

static void on_time(struct timer *t)
{
	struct exchange *x = LIST_ENTRY(t, struct exchange, timer);

	if (x->state == EXCHANGE_LINE)
		exchange_give_up(x);
	else if (x->state == EXCHANGE_HEAD && x->expects)
		exchange_draw(x);
	else
		exchange_fail(x, ERR_UPSTREAM_TIMEOUT, NULL);
}

static void on_event(struct link_turn *t, uint32_t events)
{
	struct exchange *x = LIST_ENTRY(t, struct exchange, turn);

	if (x->state == EXCHANGE_CONNECT || events & EPOLLOUT)
		exchange_send(x);
	if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return;
	x->readable = true;
	x->ends |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	if (x->state != EXCHANGE_HEAD) {
		if (x->later) { /* now the client is waited for */
			x->later = false;
			exchange_wait(x);
			req_resume(x->req);
		}
		return;
	}
	exchange_read(x);
	if (x->state >= EXCHANGE_CONTENT && x->state <= EXCHANGE_OVER)
		exchange_answer(x);
}

static void on_flush(struct task *t)
{
	exchange_send(LIST_ENTRY(t, struct exchange, flush));
}

/* More of the body came, or its end. */
static void on_body(struct h2d_req *req)
{
	struct exchange *x = req->hook_state;

	if (is_connected(x) && !x->expects)
		loop_at_turn_end(req->env->loop, &x->flush);
}

static const struct req_hook hook = { .body = on_body };

/* --- the handler ------------------------------------------------------------------------------ */

static void start(struct h2d_req *req, void *state)
{
	struct exchange *x = state;

	x->req = req;
	x->chunked = req->has_body && req->body_length == BODY_UNKNOWN && req->upgrade.n == 0;
	x->expects = req->upgrade.n == 0 && req_expects_continue(req);
	timer_init(&x->timer, on_time);
	task_init(&x->flush, on_flush);
	outq_init(&x->out, &blocks);
	x->turn = (struct link_turn){ .all = req->env->upstreams,
		.proxy = req->location->proxy,
		.account = req_account(req),
		.linked = exchange_begin,
		.event = on_event };
	list_init(&x->turn.node);
	if (!ask_may_pass(req)) {
		req_fault(req, ERR_BAD_PATH);
		reply_error(req, ERR_BAD_PATH->status);
		return;
	}
	req_hook(req, &hook, x);
	exchange_join(x);
}

static void gone(struct h2d_req *req, void *state)
{
	struct exchange *x = state;

	(void)req;
	if (x->state < EXCHANGE_OVER)
		exchange_leave(x, false, EXCHANGE_OVER);
	drop_buf(x);
}

const struct h2d_handler upstream_handler = {
	.name = "proxy",
	.state_size = sizeof(struct exchange),
	.start = start,
	.gone = gone,
};
