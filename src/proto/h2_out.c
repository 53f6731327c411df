/*
 * h2_out: from a nghttp2 session to the connection's outq: frames are copied, cached payload goes
 * by reference (NGHTTP2_DATA_FLAG_NO_COPY). The result of nghttp2_session_mem_send() is valid until
 * the next call, and NO_COPY payload comes by callback in between, so order is kept by copying at
 * once. The header sections of final responses are written here (hpack.h), with a quarter of
 * nghttp2's instructions: nghttp2 makes their frames empty, and reports when one is due.
 */
#include "base/counters.h"
#include "proto/h2.h"
#include "request/pace.h"

const uint8_t h2_drain_ping[8] = { 'h', '2', 'd', 'd', 'r', 'a', 'i', 'n' };

/* --- the end: gracefully, or for a mistake of the peer, once at most -------------------------- */

const struct states h2_drain_states = {
	.of = "HTTP/2 connection",
	.rows = {
#define H2_DRAIN_STATE(name, next, help) { #name, next },
#include "proto/h2_drain_state.def"
	},
};

void h2_drain_go(struct h2 *h2, enum h2_drain drain)
{
	STATES_STEP(&h2_drain_states, h2->drain, drain);
}

/* RFC 9113, 6.8: first 2^31-1, a round trip later the last served stream. */
void h2_drain_notice(struct h2 *h2)
{
	h2_drain_go(h2, H2_DRAIN_NOTICE);
	nghttp2_submit_shutdown_notice(h2->session);
}

void h2_end(struct h2 *h2, const struct err *err)
{
	if (h2->err != NULL || h2->own != NULL)
		return;
	h2->err = err;
	if (err->h2_code == NGHTTP2_ENHANCE_YOUR_CALM)
		COUNT(floods, 1);
	/* After the other kind of GOAWAY nghttp2 would not send the answer. */
	if (err == ERR_HEADER_BLOCK)
		nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
			nghttp2_session_get_last_proc_stream_id(h2->session), err->h2_code, NULL,
			0);
	else
		nghttp2_session_terminate_session(h2->session, err->h2_code);
}

/* --- header sections -------------------------------------------------------------------------- */

enum {
	FRAME_HEAD = 9, /* RFC 9113, 4.1 */
	FRAME_MAX = 16384,
	/* Before a section: the frame's head, and changes of the table's size, by nghttp2. */
	FRONT = 32,
	SECTION_MAX = 64 * 1024, /* nghttp2's limit, too */
};

/* The due section, in the same call of nghttp2_session_mem_send() as its frame. */
static uint8_t made[FRONT + SECTION_MAX];

static void head_too_long(struct h2 *h2, int32_t id)
{
	log_peer(LEVEL_ERROR, "connection %s: response headers too long; resetting the stream",
		ADDR_HOST(&h2->host->conn->peer));
	nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
}

/* Writes the due section of s: its response's head, then the trailers. Returns its end. */
static uint8_t *head_make(struct h2_stream *s)
{
	struct hpack *hpack = &s->h2->hpack;
	const uint8_t *end = made + sizeof(made);
	const struct reply *r = &s->req.reply;
	const struct trailers *trailers;
	uint8_t *p;

	if (!s->headed) {
		s->headed = true;
		p = hpack_fields(
			hpack, r->fields, r->nfields, hpack_status(r->status, made + FRONT), end);
		if (p != NULL)
			return p;
		/* Status 500 alone goes out, before the reset. */
		head_too_long(s->h2, s->id);
		return hpack_status(500, made + FRONT);
	}
	trailers = r->body.trailers;
	H2D_ASSERT(trailers != NULL);
	p = hpack_fields(hpack, trailers->v, trailers->n, made + FRONT, end);
	H2D_ASSERT(p != NULL); /* they have TRAILERS_SIZE bytes at most */
	return p;
}

/* The stream of a frame: usually the next opened one after that of the last frame. */
static struct h2_stream *stream_of(struct h2 *h2, int32_t id)
{
	struct h2_stream *s = h2->due;
	struct list *next;

	if (s == NULL || s->id != id)
		s = nghttp2_session_get_stream_user_data(h2->session, id);
	H2D_ASSERT(s != NULL);
	next = s->node.next;
	h2->due = next != &h2->streams ? LIST_ENTRY(next, struct h2_stream, node) : NULL;
	return s;
}

static void head_due(struct h2 *h2, const nghttp2_frame *frame)
{
	struct h2_stream *s;

	h2->section = 0;
	if (frame->headers.nvlen > 0)
		return;
	s = stream_of(h2, frame->hd.stream_id);
	h2->section = (size_t)(head_make(s) - (made + FRONT));
}

static void set_length(uint8_t *head, size_t n)
{
	head[0] = (uint8_t)(n >> 16);
	head[1] = (uint8_t)(n >> 8);
	head[2] = (uint8_t)n;
}

/* RFC 9113, 6.10: the rest of n bytes at p that does not fit into one frame continues in others. */
static __attribute__((noinline)) int put_frames(
	struct h2 *h2, uint8_t head[FRAME_HEAD], const uint8_t *p, size_t n)
{
	head[4] &= (uint8_t)~NGHTTP2_FLAG_END_HEADERS;
	while (n > 0) {
		size_t piece = n < FRAME_MAX ? n : FRAME_MAX;

		set_length(head, piece);
		n -= piece;
		if (n == 0)
			head[4] |= NGHTTP2_FLAG_END_HEADERS;
		if (outq_copy(h2->out, head, FRAME_HEAD) < 0 || outq_copy(h2->out, p, piece) < 0)
			return -1;
		p += piece;
		head[3] = NGHTTP2_CONTINUATION;
		head[4] = NGHTTP2_FLAG_NONE;
	}
	return 0;
}

/* Puts the frame of a section into the output. -1: memory is out. */
static int head_put(struct h2 *h2, const uint8_t *frame, size_t n)
{
	uint8_t *start = made + FRONT - n;

	h2->resized = false;
	if (h2->section == 0)
		return outq_copy(h2->out, frame, n);
	H2D_ASSERT(n >= FRAME_HEAD && n <= FRONT);
	memcpy(start, frame, n);
	n += h2->section;
	if (__builtin_expect(n - FRAME_HEAD > FRAME_MAX, false))
		return put_frames(h2, start, start + FRAME_HEAD, n - FRAME_HEAD);
	set_length(start, n - FRAME_HEAD);
	return outq_copy(h2->out, start, n);
}

/* --- content ---------------------------------------------------------------------------------- */

/* The content ends: so does the stream, or trailers follow (RFC 9113, 8.1). */
static int at_end(struct h2_stream *s, uint32_t *flags)
{
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (s->req.reply.body.trailers == NULL)
		return 0;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	/* head_due() adds the headers when they are sent. */
	return nghttp2_submit_trailer(s->h2->session, s->id, NULL, 0);
}

ssize_t h2_out_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
	uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct h2_stream *s = source->ptr;
	struct body *b = &s->req.reply.body;
	ssize_t n;

	(void)session, (void)id, (void)buf, (void)user;
	length = pace_room(&s->req, length);
	n = length > 0 ? b->ops->ready(b, length) : BODY_LATER;
	if (n == BODY_LATER) {
		h2_stream_waits(s, true);
		return NGHTTP2_ERR_DEFERRED;
	}
	if (n < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if ((uint64_t)n == b->left && at_end(s, flags) < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return n;
}

bool h2_out_closed(const struct h2_stream *s, size_t n)
{
	nghttp2_session *session = s->h2->session;

	return nghttp2_session_get_stream_remote_window_size(session, s->id) <= (int32_t)n ||
	       nghttp2_session_get_remote_window_size(session) <= (int32_t)n;
}

int h2_out_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
	size_t length, nghttp2_data_source *source, void *user)
{
	struct h2_stream *s = source->ptr;
	struct body *b = &s->req.reply.body;
	struct h2 *h2 = user;

	(void)session;
	if (outq_len(h2->out) >= h2->out_limit) {
		h2->out_blocked = true;
		return NGHTTP2_ERR_WOULDBLOCK;
	}
	/* 9 bytes: RFC 9113, 4.1; no padding was requested. */
	if (outq_copy(h2->out, head, 9) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (length > 0 && b->ops->emit(b, length, h2->out) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	h2->sending = s;
	s->req.record.bytes_out += length;
	pace_sent(&s->req, length);
	h2->sent += length;
	/* A window open by a few bytes makes frames of a few bytes: they earn no credit. */
	if (length >= H2_GUARD_CONTENT || !h2_out_closed(s, length))
		h2_guard_sent(&h2->guard, length);
	if (b->left > 0 && b->ops->rest != NULL && h2_out_closed(s, length))
		b->ops->rest(b);
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		req_sent_all(&s->req);
	return 0;
}

int h2_out_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int code, void *user)
{
	(void)session;
	if (frame->hd.type == NGHTTP2_HEADERS && code == NGHTTP2_ERR_FRAME_SIZE_ERROR)
		head_too_long(user, frame->hd.stream_id);
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The error for a code of nghttp2's own GOAWAY. */
static const struct err *meant(uint32_t code)
{
	static const struct err *const *const meanings[] = {
		[NGHTTP2_INTERNAL_ERROR] = &ERR_RESETS, /* its limit of those, with no other use */
		[NGHTTP2_ENHANCE_YOUR_CALM] = &ERR_FLOOD,
		[NGHTTP2_STREAM_CLOSED] = &ERR_STREAM_CLOSED,
		[NGHTTP2_FLOW_CONTROL_ERROR] = &ERR_FLOW_CONTROL,
		[NGHTTP2_FRAME_SIZE_ERROR] = &ERR_FRAME_SIZE,
		[NGHTTP2_COMPRESSION_ERROR] = &ERR_COMPRESSION,
	};

	return code < sizeof(meanings) / sizeof(meanings[0]) && meanings[code] != NULL
		       ? *meanings[code]
		       : ERR_STREAM_PROTOCOL;
}

/*
 * RFC 9113, 8.1.1: a malformed request may be answered before nghttp2's reset. So this head is made
 * here: ":status: 400" and date, by the static table and literals (RFC 7541, 6.1 and 6.2.2), which
 * leave both encoders, nghttp2's and hpack, unchanged; unless the client has changed the size of
 * its table, which the next head, nghttp2's, must confirm (RFC 7541, 4.2).
 */
static __attribute__((cold, noinline)) int answer_nameless(struct h2 *h2, int32_t id)
{
	static const uint8_t status_and_date[] = { 0x8c, 0x0f, 0x12 };
	struct slice date = h2->conf->env->date;
	uint32_t n = (uint32_t)(sizeof(status_and_date) + 1 + date.n);
	const uint8_t head[] = { 0, 0, (uint8_t)n, NGHTTP2_HEADERS,
		NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, (uint8_t)(id >> 24),
		(uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id };
	const uint8_t length = (uint8_t)date.n;

	if (h2->resized)
		return 0;
	H2D_ASSERT(n < 127);
	if (outq_copy(h2->out, head, sizeof(head)) < 0 ||
		outq_copy(h2->out, status_and_date, sizeof(status_and_date)) < 0 ||
		outq_copy(h2->out, &length, 1) < 0 || outq_copy(h2->out, date.p, date.n) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return 0;
}

int h2_out_before_send(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h2 = user;
	struct h2_stream *s;
	uint32_t code;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		head_due(h2, frame);
		/* A response with trailers does not end in a DATA frame. */
		if (frame->headers.cat == NGHTTP2_HCAT_HEADERS &&
			frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
			s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
			if (s != NULL)
				req_sent_all(&s->req);
		}
		return 0;
	case NGHTTP2_RST_STREAM:
		/* For the peer's input, which may be an attack to start work that the limit of open
		 * streams does not count (CVE-2025-8671). */
		code = frame->rst_stream.error_code;
		if (code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR ||
			code == NGHTTP2_STREAM_CLOSED || code == NGHTTP2_FRAME_SIZE_ERROR)
			h2_guard_take(&h2->guard, H2_GUARD_RESET);
		s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
		return s != NULL && s->nameless ? answer_nameless(h2, s->id) : 0;
	case NGHTTP2_GOAWAY:
		if (frame->goaway.error_code == NGHTTP2_NO_ERROR || h2->err != NULL ||
			h2->own != NULL)
			return 0;
		h2->own = meant(frame->goaway.error_code);
		if (h2->own->h2_code == NGHTTP2_ENHANCE_YOUR_CALM)
			COUNT(floods, 1);
		COUNT(protocol_errors, 1);
		err_log(h2->own, &h2->host->conn->peer);
		return 0;
	default:
		return 0;
	}
}

/* Takes all output of nghttp2, up to the limit. 1: there is more, 0: there is not, -1: memory is
 * out. */
static int pump(struct h2 *h2)
{
	while (outq_len(h2->out) < h2->out_limit) {
		const uint8_t *frame;
		ssize_t n = nghttp2_session_mem_send(h2->session, &frame);

		if (n == 0)
			return h2->out_blocked;
		if (n < 0)
			return -1;
		H2D_ASSERT(n > 3);
		if ((frame[3] == NGHTTP2_HEADERS ? head_put(h2, frame, (size_t)n)
						 : outq_copy(h2->out, frame, (size_t)n)) < 0)
			return -1;
	}
	return 1;
}

int h2_output(struct proto *p, struct outq *q, size_t limit)
{
	struct h2 *h2 = (struct h2 *)p;
	int more;

	h2->out = q;
	h2->out_limit = limit;
	h2->out_blocked = false;
	h2->unsent = 0;
	h2->pages.quiet = 0;
	more = pump(h2);
	/* Only after the GOAWAY, which it would overtake in nghttp2: its answer must mean that the
	 * notice was seen. */
	if (more == 0 && h2->drain == H2_DRAIN_NOTICE) {
		h2_drain_go(h2, H2_DRAIN_ASKED);
		nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, h2_drain_ping);
		more = pump(h2);
	}
	h2->out = NULL;
	return more;
}
