/*
 * exchange: see exchange.h. It sends the head of the request, then the pieces of its body from the
 * request's queue, chunked if it has no length. Credit is given back when a piece is sent,
 * so a slow peer slows the client down. Nothing is sent twice but a request without a body
 * whose method is idempotent (RFC 9110, 9.2.2), and once; what no peer has got may go to any.
 */
#include "upstream/exchange.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "proto/h1_text.h"
#include "request/req_field.h"

enum {
	EXPECT_MS = 1000,    /* a peer that ignores "expect: 100-continue" gets the body then */
	TUNNEL_MS = 3600000, /* a tunnel without a byte ends */
	TARGET_SHOWN = 200,
};

const struct states exchange_states = {
	.of = "proxied request",
	.rows = {
#define EXCHANGE_STATE(name, next, help) { #name, next },
#include "upstream/exchange_state.def"
	},
};

void exchange_go(struct exchange *x, enum exchange_state state)
{
	STATES_STEP(&exchange_states, x->state, state);
}

void exchange_leave(struct exchange *x, bool good, enum exchange_state state)
{
	exchange_go(x, state);
	outq_clear(&x->out);
	link_leave(&x->turn, good);
	timer_disarm(&x->req->env->loop->wheel, &x->timer);
	loop_cancel(&x->flush);
}

/* --- time ------------------------------------------------------------------------------------- */

void exchange_wait(struct exchange *x)
{
	struct wheel *wheel = &x->req->env->loop->wheel;

	if (x->state == EXCHANGE_CONNECT)
		return;
	if (x->state == EXCHANGE_TUNNEL)
		timer_arm(wheel, &x->timer, clock_ms() + TUNNEL_MS);
	else if (x->state == EXCHANGE_HEAD && x->expects)
		timer_arm(wheel, &x->timer, clock_ms() + EXPECT_MS);
	else if (outq_len(&x->out) > 0 || x->later ||
		 (x->state == EXCHANGE_HEAD && (x->ended || x->deaf || x->req->upgrade.n > 0)))
		timer_arm(wheel, &x->timer, clock_ms() + x->turn.proxy->silence_ms);
	else /* the client is waited for */
		timer_disarm(wheel, &x->timer);
}

/* --- the request ------------------------------------------------------------------------------ */

static void piece_release(struct ref *ref)
{
	struct exchange *x = LIST_ENTRY(ref, struct exchange, piece_ref);

	x->req->stream->consume(x->req, x->piece->n);
	body_pieces_free(x->piece);
}

static int put_piece(struct exchange *x, struct body_piece *piece)
{
	bool done;

	x->begun = true;
	x->piece = piece;
	ref_init(&x->piece_ref, piece_release);
	done = (!x->chunked || h1_put_chunk_size(&x->out, piece->n) == 0) &&
	       outq_borrow(&x->out, piece->bytes, piece->n, &x->piece_ref) == 0 &&
	       (!x->chunked || outq_copy(&x->out, "\r\n", 2) == 0);
	ref_put(&x->piece_ref);
	return done ? 0 : -1;
}

/* The last chunk, and the trailers. */
static int put_last(struct exchange *x)
{
	const struct trailers *trailers = x->req->trailers;
	struct h1_text t;

	h1_text_begin(&t, &x->out);
	h1_text_put(&t, SLICE("0\r\n"));
	for (unsigned i = 0; trailers != NULL && i < trailers->n; i++)
		if (ask_passes(x, &trailers->v[i], true))
			h1_text_field(&t, trailers->v[i].name, trailers->v[i].value);
	h1_text_put(&t, SLICE("\r\n"));
	return h1_text_end(&t);
}

/* The next piece of the body goes to out, or its end. -1: memory is out. */
static int put_body(struct exchange *x)
{
	struct body_queue *q = &x->req->body_queue;
	struct body_piece *piece;

	if (x->ended || x->req->body_state != REQ_BODY_DRAWN)
		return 0;
	piece = body_queue_take(q);
	if (piece != NULL)
		return put_piece(x, piece);
	x->ended = q->ended;
	if (x->ended && x->state == EXCHANGE_TUNNEL)
		shutdown(x->turn.link->watch.fd, SHUT_WR);
	return x->ended && x->chunked ? put_last(x) : 0;
}

/* The link is connected. */
static void exchange_connected(struct exchange *x)
{
	exchange_go(x, EXCHANGE_HEAD);
	if (!x->expects && x->req->upgrade.n == 0)
		req_body_draw(x->req);
}

void exchange_send(struct exchange *x)
{
	ssize_t n = 0;

	while (!x->deaf) {
		struct iovec v[4];
		struct msghdr msg = { .msg_iov = v };

		/* The first piece goes with the head. */
		if ((outq_len(&x->out) == 0 || !x->begun) && put_body(x) < 0) {
			exchange_fail(x, ERR_NO_MEMORY, NULL);
			return;
		}
		if (outq_len(&x->out) == 0)
			break;
		msg.msg_iovlen = (size_t)outq_iov(&x->out, v, 4, SIZE_MAX);
		n = sendmsg(x->turn.link->watch.fd, &msg, MSG_NOSIGNAL);
		if (n < 0)
			break;
		if (x->state == EXCHANGE_CONNECT)
			exchange_connected(x);
		outq_consume(&x->out, (size_t)n);
	}
	if (n < 0 && errno != EAGAIN) {
		if (x->state == EXCHANGE_CONNECT) {
			exchange_fail(x, ERR_UPSTREAM_CONNECT, strerror(errno));
			return;
		}
		/* A peer that has answered early may take no more: its answer can still be read. */
		x->deaf = true;
		outq_clear(&x->out);
		if (x->begun) /* else another link may want it */
			req_body_over(x->req);
	}
	exchange_wait(x);
}

void exchange_begin(struct link_turn *t)
{
	struct exchange *x = LIST_ENTRY(t, struct exchange, turn);
	struct h2d_req *req = x->req;

	exchange_go(x, EXCHANGE_CONNECT);
	if (t->link == NULL) {
		exchange_fail(x, ERR_UPSTREAM_CONNECT, strerror(errno));
		return;
	}
	x->deaf = x->ended = x->readable = x->ends = false;
	response_begin(&x->in, &req->arena, req->method == H2D_HEAD, req->upgrade.n > 0);
	if (t->link->used)
		exchange_connected(x);
	if (ask_head(x, &x->out) == 0)
		exchange_send(x);
	else
		exchange_fail(x, ERR_NO_MEMORY, NULL);
}

/* --- failures --------------------------------------------------------------------------------- */

static bool is_idempotent(enum h2d_method method)
{
	return method == H2D_GET || method == H2D_HEAD || method == H2D_PUT ||
	       method == H2D_DELETE || method == H2D_OPTIONS || method == H2D_PROPFIND;
}

/* Another link may have a better end. */
static bool exchange_may_retry(const struct exchange *x)
{
	if (x->begun || x->req->reply.ready)
		return false;
	if (x->state == EXCHANGE_CONNECT)
		return link_may_ask(&x->turn);
	return x->state == EXCHANGE_HEAD && !x->turn.fresh && !x->in.seen &&
	       x->req->upgrade.n == 0 && is_idempotent(x->req->method);
}

void exchange_give_up(struct exchange *x)
{
	exchange_leave(x, false, EXCHANGE_BROKEN);
	reply_later(x->req, ERR_UPSTREAM_QUEUE, 1000);
}

void exchange_join(struct exchange *x)
{
	timer_arm(&x->req->env->loop->wheel, &x->timer, clock_ms() + x->turn.proxy->connect_ms);
	x->turn.careful = x->req->has_body || !is_idempotent(x->req->method);
	if (!link_ask(&x->turn))
		exchange_give_up(x);
}

void exchange_fail(struct exchange *x, const struct err *err, const char *why)
{
	struct h2d_req *req = x->req;
	bool connected = x->state != EXCHANGE_CONNECT;
	bool again = err != ERR_UPSTREAM_TIMEOUT && exchange_may_retry(x);

	/* A link that was idle may have had its end on the way. */
	if (!again || !connected || !x->turn.link->used) {
		link_counts(&x->turn, err, !connected);
		log_peer(LEVEL_WARN, "upstream %.*s: %s%s%s: %.*s %.*s; %s",
			SLICE_ARG(link_name(&x->turn)), err->text, why != NULL ? ": " : "",
			why != NULL ? why : "", SLICE_ARG(req->method_text),
			req->target.n < TARGET_SHOWN ? (int)req->target.n : TARGET_SHOWN,
			req->target.p,
			again              ? "trying again"
			: req->reply.ready ? "cutting the response off"
					   : "replying with an error");
	}
	if (again) {
		x->turn.fresh |= connected;
		if (connected) /* by now the same peer may be another process */
			x->turn.attempts = 0;
		exchange_leave(x, false, EXCHANGE_LINE);
		exchange_join(x);
		return;
	}
	COUNT(upstream_failures, 1);
	req_record_error(&req->record, err);
	exchange_leave(x, false, EXCHANGE_BROKEN);
	if (req->reply.ready) {
		req_resume(req);
		return;
	}
	reply_no_fields(&req->reply);
	body_none(&req->reply.body);
	reply_error(req, err->status);
}
