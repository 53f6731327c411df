/*
 * h1_body: the body of a request on a HTTP/1 connection (RFC 9112, 6 and 7.1): its limits, its
 * pieces, its trailer section. Called by h1.c with bytes.
 */
#include "proto/h1.h"
#include "request/req_client.h"

/* Called by ahead_take(), for another client: no client notices a smaller window. */
static void withdraw(struct ahead_part *part)
{
	struct h1_stream *s = LIST_ENTRY(part, struct h1_stream, ahead);
	uint64_t in_memory = s->unconsumed > AHEAD_FREE ? s->unconsumed - AHEAD_FREE : 0;

	if (part->turn.held > in_memory)
		ahead_give(s->h1->conf->ahead, part, part->turn.held - in_memory);
}

/* Widens the window of a body that fills it and is being taken. */
static void widen(struct h1_stream *s)
{
	struct ahead_part *part = &s->ahead;
	uint64_t most = H1_WINDOW - AHEAD_FREE;

	if (part->turn.held >= most || req_body_waits(&s->req))
		return;
	if (part->turn.held == 0)
		ahead_part_init(part, req_account(&s->req), withdraw);
	ahead_take(s->h1->conf->ahead, part, most - part->turn.held, most - part->turn.held, false);
}

/* False: that exceeded the limit for unread bodies, and the stream is gone. */
static bool got_body(struct h1_stream *s, struct slice piece)
{
	struct h1 *h1 = s->h1;
	bool taken = req_body_flows(&s->req) || req_body_waits(&s->req);

	h1->proto.body += piece.n;
	s->head.wants_continue = false;
	s->unconsumed += piece.n;
	if (s->ahead.turn.held > 0)
		ahead_came(h1->conf->ahead, &s->ahead, piece.n);
	req_body(&s->req, piece.p, piece.n);
	if (taken)
		return true;
	s->unwanted += (uint32_t)piece.n;
	if (s->unwanted <= H1_UNWANTED_MAX)
		return true;
	s->keep = false;
	h1_close_behind(h1);
	if (!s->req.complete)
		return true;
	h1_stream_close(s);
	return false;
}

static void take_length(struct h1_stream *s, const uint8_t **data, const uint8_t *end)
{
	size_t n = (size_t)(end - *data);
	struct slice piece;

	if (n > s->head.length)
		n = (size_t)s->head.length;
	piece = slice_of(*data, n);
	*data += n;
	s->head.length -= n;
	if (got_body(s, piece) && s->head.length == 0)
		h1_stream_body_ends(s);
}

static void take_chunked(struct h1_stream *s, const uint8_t **data, const uint8_t *end)
{
	struct slice piece;

	switch (h1_chunk_next(&s->chunk, data, end, &piece)) {
	case H1_CHUNK_MORE:
		break;
	case H1_CHUNK_DATA:
		got_body(s, piece);
		break;
	case H1_CHUNK_LAST:
		h1_part_go(s, H1_PART_TRAILERS);
		h1_parse_fields(&s->h1->parse, false);
		break;
	case H1_CHUNK_FAULT:
		h1_stream_fault(s, ERR_CHUNK);
		break;
	}
}

static void take_trailers(struct h1_stream *s, const uint8_t **data, const uint8_t *end)
{
	const struct h1_parse *p = &s->h1->parse;
	const struct err *err;

	switch (h1_parse_next(&s->h1->parse, data, end)) {
	case H1_FIELD:
		err = req_body_trailer(&s->req, p->name, p->value);
		if (err != NULL)
			h1_stream_fault(s, err);
		break;
	case H1_END:
		h1_stream_body_ends(s);
		break;
	case H1_FAULT:
		h1_stream_fault(s, p->err);
		break;
	default:
		break;
	}
}

bool h1_body_take(struct h1_stream *s, const uint8_t **data, const uint8_t *end)
{
	size_t room;

	if (s->part == H1_PART_ENDED)
		return false;
	if (s->part == H1_PART_TRAILERS) {
		take_trailers(s, data, end);
		return true;
	}
	if (!h1_stream_has_room(s))
		widen(s);
	if (!h1_stream_has_room(s))
		return false;
	room = h1_stream_window(s) - s->unconsumed;
	if (room < (size_t)(end - *data))
		end = *data + room;
	if (s->part == H1_PART_LENGTH)
		take_length(s, data, end);
	else
		take_chunked(s, data, end);
	return true;
}
