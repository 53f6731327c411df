/*
 * exchange_out: the bytes of the request to the peer: its head, then the pieces of its body from
 * the request's queue, with frames if chunked (RFC 9112, 7.1). Credit is given back when a piece is
 * sent, so a slow peer slows the client down.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "upstream/exchange.h"

void exchange_out_begin(struct exchange *x)
{
	x->out[0] = x->head;
	x->out[1] = x->out[2] = (struct slice){ 0 };
	x->deaf = x->ended = false;
}

/* The last chunk, and the trailers. */
static struct slice last_chunk(struct exchange *x)
{
	const struct trailers *t = x->req->trailers;
	char *p = t != NULL ? arena_alloc(&x->req->arena, sizeof(x->frame) + t->size) : x->frame;
	char *at;

	if (p == NULL) { /* trailers may be dropped (RFC 9110, 6.5.1) */
		t = NULL;
		p = x->frame;
	}
	at = p;
	at += sprintf(at, "%s0\r\n", x->begun ? "\r\n" : "");
	for (unsigned i = 0; t != NULL && i < t->n; i++)
		if (ask_passes(x, &t->v[i], true))
			at += sprintf(at, "%.*s: %.*s\r\n", SLICE_ARG(t->v[i].name),
				SLICE_ARG(t->v[i].value));
	at += sprintf(at, "\r\n");
	return slice_of(p, (size_t)(at - p));
}

/* The next piece, or the end, goes to out. */
static void exchange_out_next(struct exchange *x)
{
	struct body_queue *q = &x->req->body_queue;

	if (x->ended || x->req->body_state != REQ_BODY_DRAWN)
		return;
	x->piece = body_queue_take(q);
	if (x->piece != NULL) {
		x->out[2] = slice_of(x->piece->bytes, x->piece->n);
		if (x->chunked)
			x->out[1] =
				slice_of(x->frame, (size_t)sprintf(x->frame, "%s%zx\r\n",
							   x->begun ? "\r\n" : "", x->piece->n));
		x->begun = true;
	} else if (q->ended) {
		x->ended = true;
		if (x->chunked)
			x->out[1] = last_chunk(x);
		else if (x->state == EXCHANGE_TUNNEL)
			shutdown(x->turn.link->watch.fd, SHUT_WR);
	}
}

/* n bytes were sent. */
static void exchange_out_sent(struct exchange *x, size_t n)
{
	for (unsigned i = 0; i < 3; i++) {
		size_t some = n < x->out[i].n ? n : x->out[i].n;

		slice_skip(&x->out[i], some);
		n -= some;
	}
}

void exchange_send(struct exchange *x)
{
	ssize_t n = 0;

	while (!x->deaf) {
		struct iovec v[3];
		struct msghdr msg = { .msg_iov = v, .msg_iovlen = 3 };

		if (x->out[2].n == 0) {
			exchange_drop_piece(x);
			exchange_out_next(x);
		}
		if (x->out[0].n + x->out[1].n + x->out[2].n == 0)
			break;
		for (unsigned i = 0; i < 3; i++)
			v[i] = (struct iovec){ (void *)(uintptr_t)x->out[i].p, x->out[i].n };
		n = sendmsg(x->turn.link->watch.fd, &msg, MSG_NOSIGNAL);
		if (n < 0)
			break;
		exchange_out_sent(x, (size_t)n);
	}
	/* A peer that has answered early may take no more: its answer can still be read. */
	if (n < 0 && errno != EAGAIN) {
		x->deaf = true;
		x->out[0].n = x->out[1].n = x->out[2].n = 0;
		exchange_drop_piece(x);
		if (x->begun) /* else another link may want it */
			req_body_over(x->req);
	}
	exchange_wait(x);
}
