/*
 * h2_end: ends a HTTP/2 connection for a mistake of its peer, with GOAWAY, and logs the ends made
 * by nghttp2 itself; has the steps of the graceful end. Called by h2.c and by nghttp2 before each
 * frame of its own; never ends a connection twice.
 */
#include "base/counters.h"
#include "proto/h2.h"

const struct states h2_drain_states = {
	.of = "HTTP/2 connection",
	.n = H2_DRAINS,
	.rows = {
#define H2_DRAIN_STATE(name, next, help) { #name, next },
#include "proto/h2_drain_state.def"
	},
};

void h2_drain_go(struct h2 *h2, enum h2_drain drain)
{
	STATES_STEP(&h2_drain_states, h2->drain, drain);
	h2->drain = drain;
}

/* RFC 9113, 6.8: first 2^31-1, a round trip later the last served stream. */
void h2_drain_notice(struct h2 *h2)
{
	h2_drain_go(h2, H2_DRAIN_NOTICE);
	nghttp2_submit_shutdown_notice(h2->session);
}

static void h2_end_count(const struct err *err)
{
	if (err->h2_code == NGHTTP2_ENHANCE_YOUR_CALM)
		COUNT(floods, 1);
}

void h2_end(struct h2 *h2, const struct err *err)
{
	if (h2->err != NULL || h2->own != NULL)
		return;
	h2->err = err;
	h2_end_count(err);
	/* After the other kind of GOAWAY nghttp2 would not send the answer. */
	if (err == ERR_HEADER_BLOCK)
		nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
			nghttp2_session_get_last_proc_stream_id(h2->session), err->h2_code, NULL,
			0);
	else
		nghttp2_session_terminate_session(h2->session, err->h2_code);
}

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

/* A response with trailers does not end in a DATA frame, which h2_out.c would see. */
static void trailers_sent(nghttp2_session *session, int32_t id)
{
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	if (s != NULL)
		req_sent_all(&s->req);
}

/* True if a stream is reset for the peer's input, which may be an attack to start work that the
 * limit of open streams does not count (CVE-2025-8671). */
static bool is_mistake(uint32_t code)
{
	return code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR ||
	       code == NGHTTP2_STREAM_CLOSED || code == NGHTTP2_FRAME_SIZE_ERROR;
}

int h2_end_before_send(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h2 = user;
	const struct h2_stream *s;
	const struct err *err;

	if (frame->hd.type == NGHTTP2_HEADERS)
		h2_head_due(h2, frame);
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_HEADERS &&
		frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		trailers_sent(session, frame->hd.stream_id);
		return 0;
	}
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		if (is_mistake(frame->rst_stream.error_code))
			h2_guard_take(&h2->guard, H2_GUARD_RESET);
		s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
		return s != NULL && s->nameless ? answer_nameless(h2, s->id) : 0;
	}
	if (frame->hd.type != NGHTTP2_GOAWAY || frame->goaway.error_code == NGHTTP2_NO_ERROR ||
		h2->err != NULL || h2->own != NULL)
		return 0;
	err = meant(frame->goaway.error_code);
	h2->own = err;
	h2_end_count(err);
	COUNT(protocol_errors, 1);
	err_log(err, &h2->host->conn->peer);
	return 0;
}
