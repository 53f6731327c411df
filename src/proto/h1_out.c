/*
 * h1_out: from a reply to the bytes of a response in the connection's outq: the head is copied,
 * cached payload goes by reference. RFC 9112, 4, 6 and 7.1.
 */
#include <stdio.h>

#include "http/reason.h"
#include "proto/h1.h"
#include "proto/h1_text.h"
#include "request/pace.h"

/* The whole line; n 0: the status is not registered. */
static inline struct slice line_of(int status)
{
	switch (status) {
#define REASON(status, reason) \
	case status: \
		return SLICE("HTTP/1.1 " #status " " reason "\r\n");
#include "http/reason.def"
	default:
		return (struct slice){ 0 };
	}
}

static void put_status(struct h1_text *t, int status)
{
	struct slice line = line_of(status);
	char other[40];

	if (line.n == 0)
		line = slice_of(other,
			(size_t)sprintf(other, "HTTP/1.1 %d %s\r\n", status, reason_of(status)));
	h1_text_put(t, line);
}

/* --- the head --------------------------------------------------------------------------------- */

/* True if another request can follow on this connection. */
static bool goes_on(const struct h1_stream *s)
{
	const struct h1 *h1 = s->h1;
	const struct reply *r = &s->req.reply;

	if (!s->keep || h1->state != H1_SERVE)
		return false;
	/* The end of the connection is the end of the content (RFC 9112, 6.3). */
	if (r->content && r->body.left == BODY_UNKNOWN && !s->chunked)
		return false;
	if (s->part == H1_PART_ENDED)
		return true;
	if (req_body_duplex(&s->req))
		return true;
	/* The length of a chunked body is unknown. */
	if (s->head.chunked)
		return false;
	/* RFC 9110, 10.1.1: a client that waits for 100 may send the body, or may not. */
	return !s->head.wants_continue && s->head.length <= H1_UNWANTED_MAX - s->unwanted;
}

static int put_head(struct h1_stream *s, struct outq *q)
{
	struct reply *r = &s->req.reply;
	bool http10 = slice_eq(s->req.protocol, SLICE("HTTP/1.0"));
	struct h1_text t;

	h1_text_begin(&t, q);
	if (s->h1->tunnel && r->status == 200)
		r->status = 101;
	s->chunked = r->content && r->body.left == BODY_UNKNOWN && !http10 && r->status != 101;
	s->keep = goes_on(s);
	put_status(&t, r->status);
	for (unsigned i = 0; i < r->nfields; i++)
		h1_text_field(&t, r->fields[i].name, r->fields[i].value);
	if (s->chunked)
		h1_text_put(&t, SLICE("transfer-encoding: chunked\r\n"));
	if (r->status == 101)
		h1_text_upgrade(&t, s->req.upgrade);
	else if (!s->keep)
		h1_text_put(&t, SLICE("connection: close\r\n"));
	else if (http10)
		h1_text_put(&t, SLICE("connection: keep-alive\r\n"));
	h1_text_put(&t, SLICE("\r\n"));
	s->head_sent = true;
	return h1_text_end(&t);
}

/* --- the content ------------------------------------------------------------------------------ */

static int put_trailers(const struct trailers *trailers, struct outq *q)
{
	struct h1_text t;

	if (trailers == NULL)
		return 0;
	h1_text_begin(&t, q);
	for (unsigned i = 0; i < trailers->n; i++)
		h1_text_field(&t, trailers->v[i].name, trailers->v[i].value);
	return h1_text_end(&t);
}

static int put_piece(struct h1_stream *s, size_t n, struct outq *q)
{
	struct body *b = &s->req.reply.body;

	if (s->chunked && h1_put_chunk_size(q, n) < 0)
		return -1;
	/* With size 0, the last chunk: the trailer section follows. */
	if (n > 0 && b->ops->emit(b, n, q) < 0)
		return -1;
	if (n == 0 && s->chunked && put_trailers(b->trailers, q) < 0)
		return -1;
	s->req.record.bytes_out += n;
	pace_sent(&s->req, n);
	return s->chunked ? outq_copy(q, "\r\n", 2) : 0;
}

/* Content, at most room bytes, or a range. 1: that is all of it, 0: not yet, -1: memory is out. */
static int put_content(struct h1_stream *s, struct outq *q, size_t room)
{
	struct body *b = &s->req.reply.body;
	ssize_t n = BODY_LATER;
	bool last;

	if (b->ops->ranges && s->h1->host->conn->takes_ranges && room < BODY_RANGE_MAX)
		room = BODY_RANGE_MAX;
	room = pace_room(&s->req, room);
	if (room > 0)
		n = b->ops->ready(b, room);
	if (n == BODY_LATER) {
		s->waiting = true;
		return 0;
	}
	if (n < 0) {
		/* The client notices missing bytes of content-length, or the missing last chunk. */
		h1_go(s->h1, H1_BROKEN);
		return 0;
	}
	last = n == 0 || (uint64_t)n == b->left;
	if (put_piece(s, (size_t)n, q) < 0)
		return -1;
	return last;
}

/* Whole ones, or none when memory is out; behind the head only the zero of h1_look(). */
static int put_interim(struct h1_stream *s, struct outq *q)
{
	struct strbuf *t = &s->interim;
	int rv = t->failed || (s->head_sent && t->n > 1) ? 0 : outq_copy(q, t->p, t->n);

	strbuf_fini(t);
	return rv;
}

int h1_output(struct proto *p, struct outq *q, size_t limit)
{
	struct h1 *h1 = (struct h1 *)p;
	struct h1_stream *s = h1->stream;
	int rv = 0;

	if (s == NULL || s->req.complete || h1->state == H1_BROKEN)
		return 0;
	if (s->interim.n > 0 && put_interim(s, q) < 0)
		return -1;
	if (!s->req.reply.ready) {
		/* RFC 9110, 10.1.1: only if the body is awaited, and none of it came. */
		if (s->part == H1_PART_HEAD || !s->head.wants_continue || !req_body_flows(&s->req))
			return 0;
		s->head.wants_continue = false;
		return outq_copy(q, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	}
	if (h1_stream_checks_body(s))
		return 0;
	if (outq_len(q) >= limit)
		return 1;
	if (!s->head_sent) {
		size_t before = outq_len(q);

		if (put_head(s, q) < 0)
			return -1;
		/* Added, so that short content has no last piece of a head's length. */
		limit += outq_len(q) - before;
	}
	if (!s->req.reply.content)
		rv = 1;
	while (rv == 0 && !s->waiting && h1->state != H1_BROKEN) {
		if (outq_len(q) >= limit || outq_has_range(q))
			return 1;
		rv = put_content(s, q, limit - outq_len(q));
	}
	if (rv <= 0)
		return rv;
	req_sent_all(&s->req);
	h1_stream_sent(s);
	return 0;
}
