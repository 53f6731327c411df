/*
 * h1: the HTTP/1 protocol behind proto.h: one request after the other, each answered before the
 * next is read, so that pipelined ones are answered in order. Sans-I/O.
 */
#include "proto/h1.h"

#include <stdlib.h>

#include "base/counters.h"

static void tunnel_input(struct h1 *h1, const void *data, size_t *n)
{
	struct h1_stream *s = h1->stream;

	if (s == NULL)
		return;
	if (!h1_stream_has_room(s)) {
		*n = 0;
		return;
	}
	h1->proto.body += *n;
	s->unconsumed += *n;
	req_body(&s->req, data, *n);
}

static const struct err *h1_input(struct proto *p, const void *data, size_t *n, uint64_t now_ms)
{
	struct h1 *h1 = (struct h1 *)p;
	const uint8_t *at = data, *end = at + *n;

	(void)now_ms;
	if (__builtin_expect(h1->tunnel, false)) {
		tunnel_input(h1, data, n);
		return NULL;
	}
	while (at < end && h1->state < H1_CLOSE) {
		if (h1->stream == NULL) {
			at += h1_parse_blank(&h1->parse, at, (size_t)(end - at));
			if (at == end)
				break;
			h1->stream = h1_stream_open(h1);
			if (h1->stream == NULL)
				return ERR_NO_MEMORY;
		}
		if (h1->stream->part == H1_PART_HEAD)
			h1_stream_take(h1->stream, &at, end);
		else if (!h1_body_take(h1->stream, &at, end))
			break;
	}
	if (h1->state < H1_CLOSE)
		*n = (size_t)(at - (const uint8_t *)data);
	return NULL;
}

static enum proto_wait h1_waits(const struct proto *p)
{
	const struct h1 *h1 = (const struct h1 *)p;
	const struct h1_stream *s = h1->stream;

	if (h1->state >= H1_CLOSE && (h1->state == H1_BROKEN || s == NULL))
		return PROTO_OVER;
	if (s == NULL) /* a connection silent from its beginning is not kept for long */
		return p->requests == 0 ? PROTO_HEADER : PROTO_IDLE;
	return proto_whys[h1_stream_why(s)].wait;
}

/*
 * After the peer's end: it may still read, or be gone. An interim response finds out: a host
 * without a reader answers it with a reset. Clients of HTTP/1.1 accept them at any time, those of
 * HTTP/1.0 do not know them (RFC 9110, 15.2). In chunked content that waits for its source, a
 * leading zero of the next chunk's size does it (RFC 9112, 7.1).
 */
static const struct err *h1_look(struct proto *p, uint64_t now_ms, const struct err *late)
{
	struct h1 *h1 = (struct h1 *)p;
	struct h1_stream *s = h1->stream;

	if (h1->tunnel) {
		/* The peer's end is that of both directions. */
		if (p->eof && s != NULL && !s->req.body_queue.ended)
			req_body_end(&s->req);
		return late;
	}
	if (late != NULL) {
		if (s == NULL || (s->req.reply.ready && !h1_stream_checks_body(s)))
			return late;
		h1_stream_refuse(s, 408);
		return NULL;
	}
	if (s != NULL)
		proto_look_at(&s->req, h1_stream_why(s), now_ms);
	if (!p->eof)
		return NULL;
	if (h1->eof_ms == 0)
		h1->eof_ms = now_ms;
	if (s == NULL || s->asked || now_ms - h1->eof_ms < H1_ASK_MS ||
		(s->req.reply.ready ? !s->chunked || !s->waiting
				    : slice_eq(s->req.protocol, SLICE("HTTP/1.0"))))
		return NULL;
	s->asked = true;
	strbuf_add(&s->interim,
		s->req.reply.ready ? SLICE("0") : SLICE("HTTP/1.1 102 Processing\r\n\r\n"));
	h1->host->wake(h1->host);
	return NULL;
}

static void h1_tell(const struct proto *p, struct proto_told *told)
{
	const struct h1 *h1 = (const struct h1 *)p;

	if (h1->stream == NULL)
		return;
	told->why[h1_stream_why(h1->stream)]++;
	told->held += h1->stream->unconsumed;
	told->full = !h1_stream_has_room(h1->stream);
}

static void h1_ask(struct proto *p, struct lender *lender)
{
	struct h1 *h1 = (struct h1 *)p;

	if (h1->stream != NULL)
		reply_ask(&h1->stream->req.reply, lender);
}

/*
 * The first request of a connection is on its way already (see session_drain()). A client without
 * pauses has also sent its next one: it is answered with "connection: close" (RFC 9112, 9.6),
 * because an end would cross it and lose it.
 */
static void h1_drain(struct proto *p, bool patient)
{
	struct h1 *h1 = (struct h1 *)p;

	if (h1->stream == NULL && p->requests > 0 && !patient)
		h1_close_behind(h1);
	else if (h1->state == H1_SERVE)
		h1_go(h1, H1_DRAIN);
	if (h1->stream != NULL)
		req_resume(&h1->stream->req);
	h1->host->wake(h1->host);
}

static void h1_close(struct proto **pp)
{
	struct h1 *h1 = (struct h1 *)*pp;

	*pp = NULL;
	if (h1->stream != NULL)
		h1_stream_close(h1->stream);
	free(h1);
}

static const struct proto_ops h1_ops = {
	.name = "h1",
	.input = h1_input,
	.output = h1_output,
	.waits = h1_waits,
	.look = h1_look,
	.ask = h1_ask,
	.tell = h1_tell,
	.drain = h1_drain,
	.drain_ms = H1_DRAIN_MS,
	.close = h1_close,
	.in_order = true,
};

struct proto *h1_open(const struct proto_conf *conf, struct proto_host *host)
{
	struct h1 *h1 = calloc(1, sizeof(*h1));

	if (h1 == NULL)
		return NULL;
	h1->proto.ops = &h1_ops;
	h1->conf = conf;
	h1->host = host;
	COUNT(connections_h1, 1);
	return &h1->proto;
}
