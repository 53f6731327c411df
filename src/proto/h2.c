/*
 * h2: the HTTP/2 protocol behind the seam of proto.h: a nghttp2 session fed with bytes, the frames
 * it reports, flow control, the graceful end. Sans-I/O. Called by server/conn.c only.
 */
#include "proto/h2.h"

#include <stdlib.h>

#include "base/counters.h"
#include "proto/h2_mem.h"
#include "request/req_client.h"

enum {
	PREFACE = 24,
	FRAME = 16384, /* SETTINGS_MAX_FRAME_SIZE, which stays as it is */
	UNWANTED_MAX = 256 * 1024,
	CLOSED_GRACE_MS = 10000, /* frames sent before the peer saw our reset are no mistake */
};

static struct h2_stream *stream_get(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

/* --- what nghttp2 reports --------------------------------------------------------------------- */

/*
 * RFC 9113, 5.1: DATA or HEADERS on a stream that both sides ended or the peer reset. nghttp2 keeps
 * no trace of those (no_closed_streams) and ignores them.
 */
static bool on_closed_stream(const struct h2 *h2, int32_t id)
{
	if (id > h2->last_id || id % 2 == 0 || h2->drain == H2_GOAWAY_SENT)
		return false;
	if (h2->reset_ms != 0 && h2->now_ms - h2->reset_ms < CLOSED_GRACE_MS)
		return false;
	return nghttp2_session_find_stream(h2->session, id) == NULL;
}

static void new_stream(struct h2 *h2, int32_t id)
{
	if (id > h2->last_id + 2) {
		h2->gap_lo = h2->last_id + 1;
		h2->gap_hi = id - 1;
	}
	h2->last_id = id;
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
	/* RFC 9113, 5.1.1: identifiers grow; nghttp2 ignores HEADERS on one that was skipped. */
	if (id >= h2->gap_lo && id <= h2->gap_hi)
		h2_end(h2, ERR_STREAM_PROTOCOL);
	else if (on_closed_stream(h2, id))
		h2_end(h2, ERR_STREAM_CLOSED);
	else if (id > h2->last_id && id % 2 == 1)
		new_stream(h2, id);
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

/* What it takes to decode the rest is nobody's due; what is asked for is answered, the connection
 * ends. */
static __attribute__((noinline)) int end_block(struct h2 *h2)
{
	if (h2->opening != NULL) {
		req_record_error(&h2->opening->req.record, ERR_HEADER_BLOCK);
		req_refuse(&h2->opening->req, ERR_HEADER_BLOCK->status);
	}
	h2_end(h2, ERR_HEADER_BLOCK);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Drops a field of trailers, which have no reader (RFC 9110, 6.5.1: they may be dropped), or one
 * past a limit. */
static __attribute__((noinline)) int drop_field(struct h2 *h2, size_t n)
{
	const struct http_env *env = h2->conf->env;

	size_t kept = h2->opening != NULL ? h2->opening->req.head_size : 0;

	h2->dropped_size += n + 32;
	if (kept + h2->dropped_size > H2_HEAD_OVER * env->header_size ||
		!h2_guard_field(&h2->guard, n, h2->now_ms))
		return end_block(h2);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user)
{
	struct h2 *h2 = user;

	(void)session, (void)frame, (void)flags;
	if (h2->opening == NULL || h2->opening->req.head_too_large)
		return drop_field(h2, name_len + value_len);
	if (h2_stream_field(h2->opening, slice_of(name, name_len), slice_of(value, value_len)) < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	/* Only where more of this frame must follow: a pause at its end would wait for the next
	 * one. */
	if (h2->unsent >= H2_BATCH && h2->opening->req.target.n == 0)
		return NGHTTP2_ERR_PAUSE;
	return 0;
}

/* RFC 9113, 8.2.1: a field with illegal bytes makes the request malformed; nghttp2 drops it. */
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
	req_end(&s->req);
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
	s->peer_done = end;
	s->req.has_body = !end;
	h2_stream_start(s);
	if (end)
		req_end(&s->req);
}

/* To a PING of ours. */
static void on_answer(struct h2 *h2, const uint8_t *opaque)
{
	if (h2->drain == H2_NOTICE_SENT &&
		memcmp(opaque, h2_drain_ping, sizeof(h2_drain_ping)) == 0)
		h2->proto.ops->drain(&h2->proto, false);
	else
		h2_window_answered(h2, opaque);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h2 = user;
	struct h2_stream *s;

	if (!h2_guard_frame(&h2->guard, &frame->hd, h2->now_ms))
		h2_end(h2, ERR_FLOOD);
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
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK)
			on_answer(h2, frame->ping.opaque_data);
		break;
	default:
		break;
	}
	return 0;
}

/* nghttp2 resets the stream of a request without :authority and host, of which no other says why.
 */
static void refuse_nameless(struct h2 *h2, struct h2_stream *s)
{
	if (s == NULL || s->req.authority.n > 0 ||
		field_find(s->req.fields, s->req.nfields, SLICE("host")) != NULL)
		return;
	s->nameless = true;
	err_log(ERR_HOST, req_client(&s->req));
	req_record_error(&s->req.record, ERR_HOST);
	h2->header_open = false;
}

static int on_invalid_frame(
	nghttp2_session *session, const nghttp2_frame *frame, int code, void *user)
{
	struct h2 *h2 = user;

	if (frame->hd.type == NGHTTP2_HEADERS) {
		if (code == NGHTTP2_ERR_HTTP_MESSAGING && h2->opening != NULL)
			refuse_nameless(h2, stream_get(session, frame->hd.stream_id));
		/* Before the client has acknowledged our settings refused, then an error. */
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

	(void)flags, (void)user;
	if (s == NULL) {
		nghttp2_session_consume(session, id, len);
		return 0;
	}
	h2_stream_body(s, data, len);
	/* RFC 9113, 8.1: the answer is complete, the rest is not wanted. Clients that are nearly
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
	struct h2_stream *s = stream_get(session, id);
	struct h2 *h2 = user;

	if (s == NULL || !s->peer_done)
		h2->reset_ms = h2->now_ms;
	if (s == NULL)
		return 0;
	/* A reply without content ends with its head, which nobody else reports. */
	if (code == NGHTTP2_NO_ERROR && s->req.state == REQ_REPLY && !s->req.reply.content)
		req_sent_all(&s->req);
	h2_stream_close(s);
	return 0;
}

/* --- the session ------------------------------------------------------------------------------ */

/* Made with the first session, the same for all of a process. */
static nghttp2_session_callbacks *callbacks;
static nghttp2_option *option;

static int shared_init(const struct proto_conf *conf)
{
	if (callbacks != NULL)
		return 0;
	if (nghttp2_option_new(&option) != 0)
		return -1;
	if (nghttp2_session_callbacks_new(&callbacks) != 0) {
		nghttp2_option_del(option);
		return -1;
	}
	/* Windows open as handlers consume; requests that are over need no trace. */
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_no_closed_streams(option, 1);
	/* RFC 9218, 7.1; the priority field needs no asking once 7540's are switched off. */
	nghttp2_option_set_builtin_recv_extension_type(option, NGHTTP2_PRIORITY_UPDATE);
#ifdef HAVE_NGHTTP2_OPTION_SET_MAX_CONTINUATIONS
	/* The default, and what the header section that is announced may need. */
	nghttp2_option_set_max_continuations(option, 8 + conf->env->header_size / FRAME);
#else
	(void)conf;
#endif
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, h2_end_before_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, h2_out_not_sent);
	nghttp2_session_callbacks_set_send_data_callback(callbacks, h2_out_send_data);
	return 0;
}

static int announce(struct h2 *h2)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, h2->conf->max_concurrent_streams },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)h2->conf->env->header_size },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
	};

	return nghttp2_submit_settings(
		h2->session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(settings[0]));
}

static void drop_session(struct h2 *h2)
{
	nghttp2_session_del(h2->session);
	h2_pages_close(&h2->pages);
}

static int make_session(struct h2 *h2)
{
	nghttp2_mem mem = h2_mem(&h2->pages);
	int rv;

	h2_pages_open(&h2->pages);
	rv = nghttp2_session_server_new3(&h2->session, callbacks, h2, option, &mem);
	h2_pages_made(&h2->pages);
	return rv == 0 ? announce(h2) : rv;
}

static struct proto *h2_open(const struct proto_conf *conf, struct proto_host *host)
{
	struct h2 *h2 = calloc(1, sizeof(*h2));

	if (h2 == NULL)
		return NULL;
	h2->proto.ops = &h2_ops;
	h2->conf = conf;
	h2->host = host;
	h2->gap_hi = -1;
	h2_frames_init(&h2->frames, PREFACE);
	list_init(&h2->streams);
	h2_window_open(h2);
	if (shared_init(conf) < 0 || make_session(h2) != 0) {
		drop_session(h2);
		free(h2);
		return NULL;
	}
	COUNT(connections_h2, 1);
	return &h2->proto;
}

static const struct err *input_failed(int code)
{
	switch (code) {
	case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
		return ERR_PREFACE;
	case NGHTTP2_ERR_NOMEM:
		return ERR_NO_MEMORY;
	default: /* floods; too many CONTINUATION frames have no number in nghttp2 1.52 */
		return ERR_FLOOD;
	}
}

/*
 * Up to the next DATA frame's head at most, and that in two steps: its stream is looked up as
 * things stand in front of it. A head that began in an earlier read has nothing in front.
 */
static ssize_t input_some(struct h2 *h2, const uint8_t *p, size_t n)
{
	struct h2_frames ahead = h2->frames;
	enum h2_frames_found found;
	int32_t id;
	size_t k = h2_frames_scan(&ahead, p, n, &found, &id), front = k;
	ssize_t rv;

	if (found == H2_FRAMES_DATA)
		front = k > H2_FRAMES_HEAD ? k - H2_FRAMES_HEAD : 0;
	rv = nghttp2_session_mem_recv(h2->session, p, front);
	if (rv >= 0 && (size_t)rv < front) { /* paused */
		h2_frames_scan(&h2->frames, p, (size_t)rv, &found, &id);
		return rv;
	}
	h2->frames = ahead;
	if (found == H2_FRAMES_SELF)
		h2_end(h2, ERR_STREAM_PROTOCOL);
	else if (found == H2_FRAMES_DATA && on_closed_stream(h2, id))
		h2_end(h2, ERR_STREAM_CLOSED);
	if (rv >= 0 && front < k)
		rv = nghttp2_session_mem_recv(h2->session, p + front, k - front);
	if (rv < 0) {
		h2_end(h2, input_failed((int)rv));
		return rv;
	}
	return (ssize_t)k;
}

static const struct err *h2_input(struct proto *p, const void *data, size_t *n, uint64_t now_ms)
{
	struct h2 *h2 = (struct h2 *)p;
	size_t done = 0;

	if (h2->now_ms == 0)
		h2_guard_init(&h2->guard, now_ms);
	h2->now_ms = now_ms;
	while (done < *n && h2->err == NULL && h2->unsent < H2_BATCH && !h2_window_full(h2)) {
		ssize_t rv = input_some(h2, (const uint8_t *)data + done, *n - done);

		if (rv < 0)
			break;
		done += (size_t)rv;
	}
	*n = done;
	return h2->err;
}

static enum proto_wait h2_waits(const struct proto *p)
{
	const struct h2 *h2 = (const struct h2 *)p;

	if (h2->header_open || !h2->preface_done)
		return PROTO_HEADER;
	if (h2->nstreams == 0)
		return PROTO_IDLE;
	return h2->nwaiting > 0 ? PROTO_BUSY : PROTO_SEND;
}

static bool h2_timed_out(struct proto *p)
{
	(void)p;
	return false;
}

static void h2_drain(struct proto *p, bool patient)
{
	struct h2 *h2 = (struct h2 *)p;

	(void)patient;
	/* RFC 9113, 6.8: first 2^31-1, a round trip, then the last stream that is served. */
	if (h2->drain == H2_SERVING) {
		h2->drain = H2_NOTICE_SENT;
		nghttp2_submit_shutdown_notice(h2->session);
	} else if (h2->drain == H2_NOTICE_SENT) {
		h2->drain = H2_GOAWAY_SENT;
		nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
			nghttp2_session_get_last_proc_stream_id(h2->session), NGHTTP2_NO_ERROR,
			NULL, 0);
	}
	h2->host->wake(h2->host);
}

static bool h2_finished(const struct proto *p)
{
	const struct h2 *h2 = (const struct h2 *)p;

	return !nghttp2_session_want_read(h2->session) && !nghttp2_session_want_write(h2->session);
}

static void h2_close(struct proto **pp)
{
	struct h2 *h2 = (struct h2 *)*pp;

	*pp = NULL;
	LIST_FOREACH(node, &h2->streams)
		h2_stream_close(LIST_ENTRY(node, struct h2_stream, node));
	h2_window_close(h2);
	drop_session(h2);
	free(h2);
}

void h2_fini(void)
{
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	callbacks = NULL;
	option = NULL;
	h2_stream_fini();
	h2_mem_trim();
}

const struct proto_ops h2_ops = {
	.name = "h2",
	.open = h2_open,
	.input = h2_input,
	.output = h2_output,
	.waits = h2_waits,
	.timed_out = h2_timed_out,
	.look = h2_look,
	.ask = h2_stream_ask_all,
	.drain = h2_drain,
	.drain_ms = H2_DRAIN_MS,
	.finished = h2_finished,
	.close = h2_close,
};
