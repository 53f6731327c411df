/*
 * h1: HTTP/1.1 and 1.0 (RFC 9112); shared parts. h1.c: the connection; h1_stream.c: from bytes to a
 * request; h1_body.c: its body; h1_out.c: from a reply to bytes. Outside proto/ only h1_open() is
 * known.
 */
#pragma once

#include "base/states.h"
#include "base/strbuf.h"
#include "proto/h1_parse.h"
#include "proto/proto.h"
#include "proto/window.h"
#include "request/req_body.h"
#include "request/req_field.h"

enum {
	/* Request body that a handler takes and has not consumed: no more is read beyond it, nor
	 * beyond AHEAD_FREE if the worker's sum has no room. Twice what an upload gathers for the
	 * disk. */
	H1_WINDOW = 512 * 1024,
	/* Request body that waits to be taken: during a password's check, for a place among the
	 * files, while a handler pauses. Further bytes of the same recv(2) wait in the
	 * connection. */
	H1_WAITING = 16 * 1024,
	/* Request body that is not taken: read and dropped up to this, then the connection ends. */
	H1_UNWANTED_MAX = 256 * 1024,
	/* The time that a request waits for this server, after the peer's end, before the peer is
	 * probed. */
	H1_ASK_MS = 1000,
	/* The time for a client without pauses to send one more request, see h1_drain(). */
	H1_DRAIN_MS = 3000,
};

enum h1_state {
#define H1_STATE(name, next, help) H1_##name,
#include "proto/h1_state.def"
};
extern const struct states h1_states;

struct h1 {
	struct proto proto;
	enum h1_state state;
	const struct proto_conf *conf;
	struct proto_host *host;
	struct h1_parse parse;
	struct h1_stream *stream; /* the request under way; NULL between two */
	bool tunnel;              /* a WebSocket has the connection (RFC 9110, 7.8): input is body,
				   * content is sent unchanged */
	uint64_t eof_ms;          /* when the peer's end was first seen; 0: not yet */
};

enum h1_part {
#define H1_PART_STATE(name, next, help) H1_PART_##name,
#include "proto/h1_part_state.def"
};
extern const struct states h1_part_states;

struct h1_stream {
	struct h2d_req req;
	struct h1 *h1;
	enum h1_part part;
	struct h1_head head; /* head.length: the rest of the body */
	struct h1_chunk chunk;
	size_t unconsumed;       /* body bytes that count against its window */
	uint32_t unwanted;       /* body bytes that were dropped */
	struct ahead_part ahead; /* its window's part of the worker's sum; only held is set before
				  * its first use */
	bool keep;               /* the connection continues after this response */
	bool head_sent;
	bool chunked;          /* the response is */
	bool waiting;          /* its source has no bytes yet */
	bool asked;            /* the peer was probed */
	struct strbuf interim; /* responses to send before the final one */
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

/* True if more of the body is read now. */
static inline bool h1_stream_has_room(const struct h1_stream *s)
{
	return s->unconsumed < h1_stream_window(s);
}

/* h1_stream.c */

/* The only writer of h1->state: asserts the predecessor. */
void h1_go(struct h1 *h1, enum h1_state state);

/* Takes no more requests. */
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

/* Takes bytes of its head from *data. The stream may be gone afterwards. */
void h1_stream_take(struct h1_stream *s, const uint8_t **data, const uint8_t *end);
/*
 * Answers with status, whatever the handler does, unless an answer was sent; then the connection
 * ends. The stream may be gone afterwards.
 */
void h1_stream_refuse(struct h1_stream *s, int status);
/* Refuses the request for a mistake of the peer. */
void h1_stream_fault(struct h1_stream *s, const struct err *err);
/* The end of its body came. The stream may be gone afterwards. */
void h1_stream_body_ends(struct h1_stream *s);
/*
 * The end of a chunked body that is not read is still unknown: its request is answered at the end,
 * or when too much has come.
 */
bool h1_stream_checks_body(const struct h1_stream *s);
enum proto_why h1_stream_why(const struct h1_stream *s);
/* The response is complete: closes the stream, unless the connection and the body continue. */
void h1_stream_sent(struct h1_stream *s);

/* h1_body.c */

/*
 * Takes bytes of the body, or of its trailers, from *data; false when it takes no more for now. The
 * stream may be gone afterwards.
 */
bool h1_body_take(struct h1_stream *s, const uint8_t **data, const uint8_t *end);

/* h1_out.c */
int h1_output(struct proto *p, struct outq *q, size_t limit);
