/*
 * h1: HTTP/1.1 and 1.0 (RFC 9112); what its files share. h1.c: the connection; h1_stream.c: from
 * bytes to a request; h1_body.c: its body; h1_out.c: from a reply to bytes. Outside proto/ only
 * h1_open() is known.
 */
#ifndef H2D_PROTO_H1_H
#define H2D_PROTO_H1_H

#include "base/states.h"
#include "base/strbuf.h"
#include "proto/ahead.h"
#include "proto/h1_parse.h"
#include "proto/proto.h"
#include "request/req_body.h"
#include "request/req_field.h"

enum {
	/* Request body that a handler takes and has not consumed: past it no more is taken in, nor
	 * past AHEAD_FREE where the worker's sum has no room. Twice what an upload gathers for the
	 * disk. */
	H1_WINDOW = 512 * 1024,
	/* Request body that waits for somebody to take it: a password's check, a place among the
	 * files, a handler that has paused. What comes with it by one recv(2) waits in the
	 * connection. */
	H1_WAITING = 16 * 1024,
	/* Request body that nobody takes: read and dropped up to this, past it the connection ends.
	 */
	H1_UNWANTED_MAX = 256 * 1024,
	/* The time that a request waits for this server, behind the peer's end, before the peer is
	 * asked whether it is there. */
	H1_ASK_MS = 1000,
	/* The time for a client that asks without pause to ask once more, see h1_drain(). */
	H1_DRAIN_MS = 3000,
};

enum h1_state {
#define H1_STATE(name, next, help) H1_##name,
#include "proto/h1_state.def"
	H1_STATES
};
extern const struct states h1_states;

struct h1 {
	struct proto proto;
	enum h1_state state;
	const struct proto_conf *conf;
	struct proto_host *host;
	struct h1_parse parse;
	struct h1_stream *stream; /* the request under way; NULL between two */
	uint64_t eof_ms;          /* when the peer's end was first looked at; 0: not yet */
};

enum h1_part {
#define H1_PART_STATE(name, next, help) H1_PART_##name,
#include "proto/h1_part_state.def"
	H1_PARTS
};
extern const struct states h1_part_states;

struct h1_stream {
	struct h2d_req req;
	struct h1 *h1;
	enum h1_part part;
	struct h1_head head; /* head.length: what is left of the body */
	struct h1_chunk chunk;
	unsigned named;          /* bytes of " HTTP/1." that end what came of a line in doubt */
	size_t unconsumed;       /* body bytes that count against its window */
	uint32_t unwanted;       /* body bytes that nobody took */
	struct ahead_part ahead; /* its window's part of the worker's sum; only held is set before
				    it is asked for */
	bool keep;               /* the connection goes on behind this response */
	bool head_sent;
	bool chunked;          /* the response is */
	bool waiting;          /* its source has nothing yet */
	bool asked;            /* the peer, whether it is there */
	struct strbuf interim; /* responses to be sent before the final one */
};

static inline struct h1_stream *h1_stream_of(struct h2d_req *req)
{
	return (struct h1_stream *)((char *)req - offsetof(struct h1_stream, req));
}

/* Bytes of the body that may be in memory. */
static inline size_t h1_stream_window(const struct h1_stream *s)
{
	return req_body_waits(&s->req) ? H1_WAITING : AHEAD_FREE + (size_t)s->ahead.turn.held;
}

/* Whether more of the body is taken in now. */
static inline bool h1_stream_has_room(const struct h1_stream *s)
{
	return s->unconsumed < h1_stream_window(s);
}

/* h1_stream.c */

/* The only writer of h1->state: asserts the predecessor. */
void h1_go(struct h1 *h1, enum h1_state state);

/* Takes no further request. */
static inline void h1_close_behind(struct h1 *h1)
{
	if (h1->state < H1_CLOSE)
		h1_go(h1, H1_CLOSE);
}

/* The only writer of s->part: asserts the predecessor. */
void h1_part_go(struct h1_stream *s, enum h1_part part);

/* A request begins with the next byte. NULL when memory is out. */
struct h1_stream *h1_stream_open(struct h1 *h1);
void h1_stream_close(struct h1_stream *s);
/* Whether its head, or what may be one, has not ended. */
static inline bool h1_stream_in_head(const struct h1_stream *s)
{
	return s->part == H1_PART_HEAD || s->part == H1_PART_DOUBT;
}

/* Takes bytes of its head from *data. The stream may be gone afterwards. */
void h1_stream_take(struct h1_stream *s, const uint8_t **data, const uint8_t *end);
/*
 * Whatever the handler does, the answer is status, unless one was sent; then the connection ends.
 * The stream may be gone afterwards.
 */
void h1_stream_refuse(struct h1_stream *s, int status);
/* Ends the connection without an answer: its first line is in doubt, and no HTTP. */
void h1_stream_foreign(struct h1_stream *s);
/* Refuses the request for what the peer did. */
void h1_stream_fault(struct h1_stream *s, const struct err *err);
/* The end of its body came. The stream may be gone afterwards. */
void h1_stream_body_ends(struct h1_stream *s);
/*
 * Where a chunked body that nobody reads ends is not known yet: its request is answered when it is,
 * or when more has come than is read for nobody.
 */
bool h1_stream_checks_body(const struct h1_stream *s);
enum proto_why h1_stream_why(const struct h1_stream *s);
/* The response is complete: closes the stream, unless the connection goes on and the body does too.
 */
void h1_stream_sent(struct h1_stream *s);

/* h1_body.c */

/*
 * Takes bytes of the body, or of the trailers behind it, from *data; false when it takes no more
 * for now. The stream may be gone afterwards.
 */
bool h1_body_take(struct h1_stream *s, const uint8_t **data, const uint8_t *end);

/* The calls in the place of h1.c's own once a WebSocket has the connection (RFC 9110, 7.8): behind
 * a 101 all that comes is the request's body, and content is sent as it is. Other connections know
 * nothing of it. */
const struct err *h1_tunnel_input(struct proto *p, const void *data, size_t *n, uint64_t now_ms);
int h1_tunnel_output(struct proto *p, struct outq *q, size_t limit);
const struct err *h1_tunnel_look(struct proto *p, uint64_t now_ms, const struct err *late);

/* h1_out.c */
int h1_output(struct proto *p, struct outq *q, size_t limit);

#endif
