/*
 * h2: HTTP/2 (RFC 9113) on a nghttp2 session; shared parts. h2.c: the session; h2_recv.c: the
 * frames received, and their headers; h2_stream.c: a request and its response, and the peer's
 * credit; h2_out.c: the headers of responses, the bytes, the ends. Outside proto/ only h2_open() is
 * known.
 */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/list.h"
#include "base/states.h"
#include "proto/h2_guard.h"
#include "proto/h2_pages.h"
#include "proto/hpack.h"
#include "proto/proto.h"
#include "proto/window.h"
#include "request/req_body.h"
#include "request/req_field.h"

/*
 * Replies made before they are turned into bytes. With a hundred, the memory of the first has left
 * the processor's cache by its turn (docs/internals/decisions.md).
 */
enum { H2_BATCH = 16 };

/* A header section of so many times client-header-size ends the connection. */
enum { H2_HEAD_OVER = 4 };

/* Time for the answer to the PING after a GOAWAY notice. */
enum { H2_DRAIN_MS = 1000 };

enum h2_drain {
#define H2_DRAIN_STATE(name, next, help) H2_DRAIN_##name,
#include "proto/h2_drain_state.def"
};
extern const struct states h2_drain_states;

/*
 * The time that a peer has stalled an HTTP/2 stream or a connection's output: the sum of the times
 * that it caused. Progress at the least rate resets the sum; fewer bytes and pauses of other causes
 * do not. Kept by h2_look.c.
 */
enum h2_patience_for { H2_PATIENCE_NONE, H2_PATIENCE_SEND, H2_PATIENCE_BODY };

struct h2_patience {
	enum h2_patience_for for_what;
	uint64_t held_ms;
	uint64_t from; /* bytes when held_ms began */
};

struct h2 {
	struct proto proto;
	nghttp2_session *session;
	struct h2_pages pages; /* the session's */
	const struct proto_conf *conf;
	struct proto_host *host;
	struct list streams;       /* struct h2_stream */
	struct h2_stream *sending; /* the one whose DATA was sent last; NULL: none yet, or it is
				    * over */
	struct h2_stream *due;     /* the one whose head is likely the next; NULL: unknown */
	struct h2_stream
		*opening; /* the one whose header section arrives; NULL: none, and for trailers */
	unsigned nstreams;
	unsigned nwaiting;      /* streams that wait for this server: a handler, a source */
	int32_t last_id;        /* highest stream that the peer opened */
	int32_t gap_lo, gap_hi; /* the last identifiers it skipped: never to be used (5.1.1) */
	bool preface_done;
	bool prioritizes;    /* the peer has sent a priority (RFC 9218) */
	bool header_open;    /* a header section is incomplete */
	size_t dropped_size; /* of dropped headers of the current section */
	enum h2_drain drain;
	bool asked;            /* the PING after the peer's end was submitted */
	const struct err *err; /* the peer's mistake, found in a callback */
	const struct err *own; /* a mistake that nghttp2 found itself, already logged */
	struct h2_guard guard;
	struct h2_frames frames;
	struct window window;
	uint64_t reset_ms;           /* time of our last reset of a stream, 0: never */
	uint64_t now_ms;             /* of the current input */
	uint64_t looked_ms;          /* time of the last look(), 0: never */
	uint64_t sent;               /* content bytes given to the connection so far */
	struct h2_patience patience; /* for its window for the connection */
	unsigned unsent;             /* replies submitted since the last output() */
	struct hpack hpack;          /* of the headers of responses */
	size_t section;              /* bytes that h2_out.c has for the current HEADERS frame */
	bool resized;     /* nghttp2 begins the next section with the size of the peer's table */
	struct outq *out; /* during output() only */
	size_t out_limit;
	bool out_blocked; /* the limit was reached at a DATA frame */
};

struct h2_stream {
	struct h2d_req req;
	struct h2 *h2;
	int32_t id;
	bool waiting;      /* counted in h2->nwaiting */
	bool continued;    /* 100 was sent */
	bool nameless;     /* without :authority and host: reset after an answer */
	bool peer_done;    /* END_STREAM was received */
	bool headed;       /* the head of the reply was made */
	uint32_t unwanted; /* bytes of request body that came after the whole reply */
	struct window_share share;
	struct h2_patience patience;
	struct list node;
};

static inline struct h2_stream *h2_stream_of(struct h2d_req *req)
{
	return (struct h2_stream *)((char *)req - offsetof(struct h2_stream, req));
}

/* Notes if its stream waits for this server: a handler, a source. */
static inline void h2_stream_waits(struct h2_stream *s, bool waits)
{
	if (s->waiting == waits)
		return;
	s->waiting = waits;
	s->h2->nwaiting += waits ? 1u : -1u;
}

/* h2_stream.c */
struct h2_stream *h2_stream_open(struct h2 *h2, int32_t id);
void h2_stream_close(struct h2_stream *s);
/* The header section is complete. */
void h2_stream_start(struct h2_stream *s);
/* A piece of its body came. */
void h2_stream_body(struct h2_stream *s, const void *data, size_t n);
enum proto_why h2_stream_why(const struct h2_stream *s);
/* Announces credit for free memory; eager: the window is wider than before. */
void h2_window_give(struct h2 *h2, bool eager);
/* A PING was answered. False: none of these. */
bool h2_window_answered(struct h2 *h2, const uint8_t opaque[8]);

/* h2_look.c */
const struct err *h2_look(struct proto *p, uint64_t now_ms, const struct err *late);

/* h2_recv.c */

/* Sets the callbacks by which nghttp2 reports received frames. */
void h2_recv_set(nghttp2_session_callbacks *to);
/* True if frames of stream id come too late: both sides ended it, or the peer reset it. */
bool h2_recv_is_closed(const struct h2 *h2, int32_t id);

/* h2_mem.c: the allocator for the session of those pages, which outlive it */
nghttp2_mem h2_mem(struct h2_pages *pages);

/* h2_out.c */

/* The only writer of h2->drain: asserts the predecessor. */
void h2_drain_go(struct h2 *h2, enum h2_drain drain);
/* Tells the peer that the connection will end. */
void h2_drain_notice(struct h2 *h2);
/* Ends the connection for a mistake of the peer, unless it has ended before. */
void h2_end(struct h2 *h2, const struct err *err);

extern const uint8_t h2_drain_ping[8]; /* its answer triggers the last GOAWAY */
int h2_output(struct proto *p, struct outq *q, size_t limit);
/* True if the peer's windows are closed for s once n more bytes are sent. */
bool h2_out_closed(const struct h2_stream *s, size_t n);
ssize_t h2_out_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
	uint32_t *flags, nghttp2_data_source *source, void *user);
/* nghttp2's before_frame_send callback. */
int h2_out_before_send(nghttp2_session *session, const nghttp2_frame *frame, void *user);
/* nghttp2's on_frame_not_send callback: ends a response that it gives up. */
int h2_out_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int code, void *user);
int h2_out_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
	size_t length, nghttp2_data_source *source, void *user);
