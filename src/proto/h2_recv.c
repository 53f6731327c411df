/*
 * h2_recv: header sections become requests, DATA their bodies, and mistakes that nghttp2 ignores
 * end the connection. It makes no output.
 */
#include "base/counters.h"
#include "proto/h2.h"
#include "request/req_client.h"

enum {
	UNWANTED_MAX = 256 * 1024,
	CLOSED_GRACE_MS = 10000, /* frames sent before the peer saw our reset are no mistake */
};

static struct h2_stream *stream_get(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

/*
 * RFC 9113, 5.1: DATA or HEADERS on a stream that both sides ended or the peer reset. nghttp2 keeps
 * no trace of those (no_closed_streams) and ignores them.
 */
bool h2_recv_is_closed(const struct h2 *h2, int32_t id)
{
	if (id > h2->last_id || id % 2 == 0 || h2->drain == H2_DRAIN_LAST)
		return false;
	if (h2->reset_ms != 0 && h2->now_ms - h2->reset_ms < CLOSED_GRACE_MS)
		return false;
	return nghttp2_session_find_stream(h2->session, id) == NULL;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *user)
{
	struct h2 *h2 = user;
	int32_t id = hd->stream_id;

	(void)session;
	h2->preface_done = true;
	if (hd->type == NGHTTP2_PRIORITY && id == 0)
		h2_end(h2, ERR_STREAM_PROTOCOL);
	if (hd->type != NGHTTP2_HEADERS)
		return 0;
	/* RFC 9113, 5.1.1: identifiers grow; nghttp2 ignores HEADERS on a skipped one. */
	if (id > h2->last_id) {
		if (id % 2 == 0)
			return 0;
		if (id > h2->last_id + 2) {
			h2->gap_lo = h2->last_id + 1;
			h2->gap_hi = id - 1;
		}
		h2->last_id = id;
	} else if (id >= h2->gap_lo && id <= h2->gap_hi) {
		h2_end(h2, ERR_STREAM_PROTOCOL);
	} else if (h2_recv_is_closed(h2, id)) {
		h2_end(h2, ERR_STREAM_CLOSED);
	} else {
		h2_guard_take(&h2->guard, H2_GUARD_IDLE); /* trailers, or of no stream */
	}
	return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h2 = user;
	struct h2_stream *s;

	h2->opening = NULL;
	h2->dropped_size = 0;
	h2->header_open = true;
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = h2_stream_open(h2, frame->hd.stream_id);
	if (s == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, s);
	h2->opening = s;
	return 0;
}

/* Ends the connection at a header block far over the limits: its rest is not worth decoding. The
 * block's request gets its answer. */
static __attribute__((noinline)) int end_block(struct h2 *h2)
{
	if (h2->opening != NULL) {
		req_record_error(&h2->opening->req.record, ERR_HEADER_BLOCK);
		req_refuse(&h2->opening->req, ERR_HEADER_BLOCK->status);
	}
	h2_end(h2, ERR_HEADER_BLOCK);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Drops a header of trailers that has no reader (RFC 9110, 6.5.1: they may be dropped), or one
 * above a limit. */
static __attribute__((noinline)) int drop_field(struct h2 *h2, size_t n)
{
	const struct http_env *env = h2->conf->env;

	size_t kept = h2->opening != NULL ? h2->opening->req.head_size : 0;

	h2->dropped_size += n + 32;
	h2_guard_take(&h2->guard, (unsigned)(n / 1024) * H2_GUARD_FIELDS);
	if (kept + h2->dropped_size > H2_HEAD_OVER * env->conf.header_size ||
		h2_guard_overdrawn(&h2->guard))
		return end_block(h2);
	return 0;
}

/* A header of trailers: limited like those of a head, kept if the body is being taken. */
static __attribute__((noinline)) int trailer(
	struct h2 *h2, struct h2_stream *s, struct slice name, struct slice value)
{
	const struct err *err = s != NULL ? req_body_trailer(&s->req, name, value) : NULL;

	if (err != NULL) {
		req_fault(&s->req, err);
		req_refuse(&s->req, err->status);
	}
	return drop_field(h2, name.n + value.n);
}

static int h2_recv_copy(struct h2d_req *req, struct slice *to, struct slice value)
{
	*to = arena_dup(&req->arena, value);
	return to->p != NULL ? 0 : -1;
}

/* The constant replaces a value of the same bytes: usually no copy is needed. */
static int copy_unless(
	struct h2d_req *req, struct slice *to, struct slice value, struct slice constant)
{
	if (!slice_eq(value, constant))
		return h2_recv_copy(req, to, value);
	*to = constant;
	return 0;
}

/* RFC 9113, 8.3.1; nghttp2 has checked that they are known, unique and in front. */
static int pseudo_field(struct h2d_req *req, struct slice name, struct slice value)
{
	req->head_size += name.n + value.n + 32;
	if (req->head_size > req->env->conf.header_size)
		req->head_too_large = true;
	switch (name.p[1]) {
	case 'm':
		return copy_unless(req, &req->method_text, value, SLICE("GET"));
	case 's':
		return copy_unless(
			req, &req->scheme, value, value.n == 4 ? SLICE("http") : SLICE("https"));
	case 'a':
		return h2_recv_copy(req, &req->authority, value);
	case 'p':
		if (slice_eq(name, SLICE(":path")))
			return h2_recv_copy(req, &req->target, value);
		if (slice_eq(value, SLICE("websocket")))
			req->upgrade = SLICE("websocket");
		return 0;
	default:
		return 0;
	}
}

/* Makes *s the bytes of an equal header, or else a copy. */
static int share(struct h2d_req *req, struct slice *s, bool is_name)
{
	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++) {
		struct slice have = is_name ? f->name : f->value;

		if (have.n == s->n && memcmp(have.p, s->p, s->n) == 0) {
			*s = have;
			return 0;
		}
	}
	*s = arena_dup(&req->arena, *s);
	return s->p != NULL ? 0 : -1;
}

/*
 * A header of a request that has filled its first memory: one byte on the wire can mean kilobytes
 * (RFC 7541, 6.1), again and again, and they are held as long as the stream waits. Not inline: most
 * requests never come here.
 */
static __attribute__((noinline)) int add_shared(
	struct h2d_req *req, struct slice name, struct slice value)
{
	if (share(req, &name, true) < 0 || share(req, &value, false) < 0)
		return -1;
	return req_field_add(req, name, value);
}

/*
 * Copied, because references on HPACK's own buffers cost more than their few bytes: on_header()
 * took 644 instructions per request of five headers with references, 513 with copies (callgrind).
 */
static int h2_recv_field(struct h2_stream *s, struct slice name, struct slice value)
{
	struct h2d_req *req = &s->req;
	char *p;

	if (name.p[0] == ':')
		return pseudo_field(req, name, value);
	if (req->arena.chunks != NULL)
		return add_shared(req, name, value);
	p = arena_alloc(&req->arena, value.n + name.n + 2);
	if (p == NULL)
		return -1;
	memcpy(p, value.p, value.n);
	p[value.n] = '\0';
	value.p = p;
	p += value.n + 1;
	memcpy(p, name.p, name.n);
	p[name.n] = '\0';
	return req_field_add(req, slice_of(p, name.n), value);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user)
{
	struct h2 *h2 = user;

	(void)flags;
	if (h2->opening == NULL)
		return trailer(h2, stream_get(session, frame->hd.stream_id),
			slice_of(name, name_len), slice_of(value, value_len));
	if (h2->opening->req.head_too_large)
		return drop_field(h2, name_len + value_len);
	if (h2_recv_field(h2->opening, slice_of(name, name_len), slice_of(value, value_len)) < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	/* Only if more of this frame must follow: a pause at its end would wait for the next
	 * one. */
	if (h2->unsent >= H2_BATCH && h2->opening->req.target.n == 0)
		return NGHTTP2_ERR_PAUSE;
	return 0;
}

/* RFC 9113, 8.2.1: a header with illegal bytes makes the request malformed; nghttp2 drops it. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
	const uint8_t *name, size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
	void *user)
{
	struct h2 *h2 = user;

	(void)name, (void)name_len, (void)value, (void)value_len, (void)flags;
	h2->header_open = false;
	nghttp2_submit_rst_stream(
		session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_PROTOCOL_ERROR);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void end_stream(struct h2_stream *s)
{
	s->peer_done = true;
	req_body_end(&s->req);
}

static void on_headers_complete(struct h2 *h2, const nghttp2_frame *frame)
{
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	struct h2_stream *s = h2->opening;

	h2->header_open = false;
	h2->opening = NULL;
	if (s == NULL) {
		s = stream_get(h2->session, frame->hd.stream_id);
		if (s != NULL && end)
			end_stream(s);
		return;
	}
	h2_guard_take(&h2->guard,
		s->req.head_too_large ? H2_GUARD_RESET
				      : h2_guard_section_price(s->req.head_size, frame->hd.length));
	s->peer_done = end;
	s->req.has_body = !end;
	h2_stream_start(s);
	if (end)
		req_body_end(&s->req);
}

/* An answer to a PING of ours. */
static void on_answer(struct h2 *h2, const uint8_t *opaque)
{
	if (h2->drain == H2_DRAIN_ASKED &&
		memcmp(opaque, h2_drain_ping, sizeof(h2_drain_ping)) == 0)
		h2->proto.ops->drain(&h2->proto, false);
	else if (!h2_window_answered(h2, opaque))
		return;
	h2_guard_give(&h2->guard, H2_GUARD_ANSWER); /* it was requested */
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h2 = user;
	struct h2_stream *s;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		on_headers_complete(h2, frame);
		break;
	case NGHTTP2_DATA:
		s = stream_get(session, frame->hd.stream_id);
		if (s != NULL && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
			end_stream(s);
		break;
	case NGHTTP2_RST_STREAM:
		s = stream_get(session, frame->hd.stream_id);
		if (s == NULL)
			break;
		s->peer_done = true;
		req_record_error(&s->req.record, ERR_RESET);
		break;
	case NGHTTP2_SETTINGS:
		/* nghttp2 tells the peer before the next section. */
		if (frame->hd.flags & NGHTTP2_FLAG_ACK)
			break;
		hpack_resize(&h2->hpack, nghttp2_session_get_remote_settings(
						 session, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE));
		for (size_t i = 0; i < frame->settings.niv; i++)
			h2->resized |= frame->settings.iv[i].settings_id ==
				       NGHTTP2_SETTINGS_HEADER_TABLE_SIZE;
		break;
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK)
			on_answer(h2, frame->ping.opaque_data);
		break;
	case NGHTTP2_PRIORITY_UPDATE:
		h2->prioritizes = true;
		break;
	default:
		break;
	}
	return 0;
}

/* nghttp2 resets the stream of a request without :authority and host, with no other report. */
static void refuse_nameless(struct h2 *h2, struct h2_stream *s)
{
	if (s == NULL || s->req.authority.n > 0 ||
		field_find(s->req.fields, s->req.nfields, SLICE("host")) != NULL)
		return;
	s->nameless = true;
	req_fault(&s->req, ERR_HOST);
	h2->header_open = false;
}

static int on_invalid_frame(
	nghttp2_session *session, const nghttp2_frame *frame, int code, void *user)
{
	struct h2 *h2 = user;

	if (frame->hd.type == NGHTTP2_HEADERS) {
		if (code == NGHTTP2_ERR_HTTP_MESSAGING && h2->opening != NULL)
			refuse_nameless(h2, stream_get(session, frame->hd.stream_id));
		/* Refused until the client has acknowledged our settings, then an error. */
		if (code == NGHTTP2_ERR_REFUSED_STREAM ||
			h2->nstreams >= h2->conf->max_concurrent_streams)
			COUNT(limit_streams, 1);
		h2->header_open = false;
		h2->reset_ms = h2->now_ms; /* refused */
	}
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
	size_t len, void *user)
{
	struct h2_stream *s = stream_get(session, id);

	if (flags & NGHTTP2_FLAG_PADDED && len >= H2_GUARD_CONTENT)
		h2_guard_give(&((struct h2 *)user)->guard, H2_GUARD_IDLE);
	if (s == NULL) {
		h2_window_give(user, false);
		return 0;
	}
	h2_stream_body(s, data, len);
	/* RFC 9113, 8.1: the answer is complete, the rest is not needed. Clients that are nearly
	 * done may finish: some take a reset for a failure even so. */
	if (s->req.complete && s->unwanted < UNWANTED_MAX) {
		s->unwanted += (uint32_t)len;
		if (s->unwanted >= UNWANTED_MAX)
			nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	}
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
	struct h2 *h2 = user;
	struct h2_stream *s = h2->sending;

	/* Usually the last one that sent DATA: saves a look-up in nghttp2's table. */
	if (s == NULL || s->id != id)
		s = stream_get(session, id);
	if (s == NULL || !s->peer_done)
		h2->reset_ms = h2->now_ms;
	if (s == NULL)
		return 0;
	/* A reply without content ends with its head, which has no other report. */
	if (code == NGHTTP2_NO_ERROR && s->req.state == REQ_REPLY && !s->req.reply.content)
		req_sent_all(&s->req);
	h2_stream_close(s);
	return 0;
}

void h2_recv_set(nghttp2_session_callbacks *to)
{
	nghttp2_session_callbacks_set_on_begin_frame_callback(to, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(to, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(to, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(to, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(to, on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(to, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(to, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(to, on_stream_close);
}
