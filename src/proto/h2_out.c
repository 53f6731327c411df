/*
 * h2_out: from a nghttp2 session to the connection's outq: frames are copied, cached payload goes
 * by reference (NGHTTP2_DATA_FLAG_NO_COPY). The result of nghttp2_session_mem_send() is valid until
 * the next call, and NO_COPY payload comes by callback in between, so order is kept by copying at
 * once.
 */
#include "proto/h2.h"
#include "request/pace.h"

const uint8_t h2_drain_ping[8] = { 'h', '2', 'd', 'd', 'r', 'a', 'i', 'n' };

/* The content ends: so does the stream, or trailers follow (RFC 9113, 8.1). */
static int at_end(struct h2_stream *s, uint32_t *flags)
{
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (body_trailers(&s->req.reply.body) == NULL)
		return 0;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	/* h2_head.c adds the headers when they are sent. */
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
		h2_head_too_long(user, frame->hd.stream_id);
	return 0;
}

/* Appends a frame of nghttp2's, unchanged except the heads of responses. */
static int h2_out_put(struct h2 *h2, const uint8_t *frame, size_t n)
{
	H2D_ASSERT(n > 3);
	return frame[3] == NGHTTP2_HEADERS ? h2_head_put(h2, frame, n)
					   : outq_copy(h2->out, frame, n);
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
		if (n < 0 || h2_out_put(h2, frame, (size_t)n) < 0)
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
	h2_pages_used(&h2->pages);
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
