/* h2: a nghttp2 session, its settings, its input, its graceful end. */
#include "proto/h2.h"

#include <stdlib.h>

#include "base/counters.h"

enum {
	PREFACE = 24,
	FRAME = 16384, /* SETTINGS_MAX_FRAME_SIZE, never changed */
};

/* Made with the first session, the same for the whole process. */
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
	/* Handlers open the windows by consuming; ended requests need no trace. */
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_no_closed_streams(option, 1);
	/* RFC 9218, 7.1; the priority header needs no option once 7540's are switched off. */
	nghttp2_option_set_builtin_recv_extension_type(option, NGHTTP2_PRIORITY_UPDATE);
#ifdef HAVE_NGHTTP2_OPTION_SET_MAX_CONTINUATIONS
	/* The default, and the needs of the announced header section. */
	nghttp2_option_set_max_continuations(option, 8 + conf->env->conf.header_size / FRAME);
#else
	(void)conf;
#endif
	h2_recv_set(callbacks);
	nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, h2_out_before_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, h2_out_not_sent);
	nghttp2_session_callbacks_set_send_data_callback(callbacks, h2_out_send_data);
	return 0;
}

/* Extended CONNECT (RFC 8441, 3) only if somebody takes WebSockets. */
static int announce(struct h2 *h2)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, h2->conf->max_concurrent_streams },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
			(uint32_t)h2->conf->env->conf.header_size },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
		{ NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1 },
	};
	size_t n = sizeof(settings) / sizeof(settings[0]);

	if (!h2->conf->env->conf.websockets)
		n--;
	return nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings, n);
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
	h2->pages.making = false;
	return rv == 0 ? announce(h2) : rv;
}

/*
 * Feeds up to the next DATA frame's head at most, and that in two steps: its stream is looked up in
 * the state before it. A head that began in an earlier read needs no first step.
 */
static ssize_t input_some(struct h2 *h2, const uint8_t *p, size_t n)
{
	struct h2_frames ahead = h2->frames;
	enum h2_frames_found found;
	int32_t id;
	size_t k, front;
	ssize_t rv;

	ahead.price = 0;
	ahead.credit = h2->guard.credit;
	front = k = h2_frames_scan(&ahead, p, n, &found, &id);
	if (found == H2_FRAMES_DATA)
		front = k > H2_FRAMES_HEAD ? k - H2_FRAMES_HEAD : 0;
	rv = nghttp2_session_mem_recv(h2->session, p, front);
	if (rv >= 0 && (size_t)rv < front) { /* paused */
		h2->frames.price = 0;
		h2_frames_scan(&h2->frames, p, (size_t)rv, &found, &id);
		h2_guard_take(&h2->guard, h2->frames.price);
		return rv;
	}
	h2->frames = ahead;
	h2_guard_take(&h2->guard, ahead.price);
	if (found == H2_FRAMES_SELF)
		h2_end(h2, ERR_STREAM_PROTOCOL);
	else if (found == H2_FRAMES_DATA && h2_recv_is_closed(h2, id))
		h2_end(h2, ERR_STREAM_CLOSED);
	if (rv >= 0 && front < k)
		rv = nghttp2_session_mem_recv(h2->session, p + front, k - front);
	if (h2_guard_overdrawn(&h2->guard))
		h2_end(h2, ERR_FLOOD);
	if (rv < 0) {
		/* Too many CONTINUATION frames have no number in nghttp2 1.52. */
		h2_end(h2, rv == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? ERR_PREFACE
			   : rv == NGHTTP2_ERR_NOMEM          ? ERR_NO_MEMORY
							      : ERR_FLOOD);
		return rv;
	}
	return (ssize_t)k;
}

static const struct err *h2_input(struct proto *p, const void *data, size_t *n, uint64_t now_ms)
{
	struct h2 *h2 = (struct h2 *)p;
	size_t done = 0;

	if (h2->now_ms == 0)
		h2_guard_open(&h2->guard, h2->conf->glitches, now_ms);
	h2->now_ms = now_ms;
	h2_guard_fill(&h2->guard, now_ms);
	while (done < *n && h2->err == NULL && h2->unsent < H2_BATCH && !window_full(&h2->window)) {
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

	if (!nghttp2_session_want_read(h2->session) && !nghttp2_session_want_write(h2->session))
		return PROTO_OVER;
	if (h2->header_open || !h2->preface_done)
		return PROTO_HEADER;
	if (h2->nstreams == 0)
		return PROTO_IDLE;
	return h2->nwaiting > 0 ? PROTO_BUSY : PROTO_SEND;
}

static void h2_drain(struct proto *p, bool patient)
{
	struct h2 *h2 = (struct h2 *)p;

	/* A connection is made for a request, and some peers, like HAProxy, fail it instead if a
	 * GOAWAY comes with the first SETTINGS. */
	if (h2->drain == H2_DRAIN_SERVE && patient && p->requests == 0) {
		h2_drain_go(h2, H2_DRAIN_FIRST);
	} else if (h2->drain == H2_DRAIN_SERVE || h2->drain == H2_DRAIN_FIRST) {
		h2_drain_notice(h2);
	} else if (h2->drain != H2_DRAIN_LAST) {
		h2_drain_go(h2, H2_DRAIN_LAST);
		nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
			nghttp2_session_get_last_proc_stream_id(h2->session), NGHTTP2_NO_ERROR,
			NULL, 0);
	}
	LIST_EACH(struct h2_stream, s, node, &h2->streams)
		req_resume(&s->req);
	h2->host->wake(h2->host);
}

static void h2_tell(const struct proto *p, struct proto_told *told)
{
	const struct h2 *h2 = (const struct h2 *)p;

	told->held += h2->window.held;
	told->full = h2->window.full;
	LIST_EACH(struct h2_stream, s, node, &h2->streams)
		told->why[h2_stream_why(s)]++;
}

static void h2_ask(struct proto *p, struct lender *lender)
{
	struct h2 *h2 = (struct h2 *)p;

	LIST_EACH(struct h2_stream, s, node, &h2->streams)
		reply_ask(&s->req.reply, lender);
}

static void h2_close(struct proto **pp)
{
	struct h2 *h2 = (struct h2 *)*pp;

	*pp = NULL;
	LIST_EACH(struct h2_stream, s, node, &h2->streams)
		h2_stream_close(s);
	window_close(&h2->window);
	hpack_clear(&h2->hpack);
	drop_session(h2);
	free(h2);
}

void h2_fini(void)
{
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	callbacks = NULL;
	option = NULL;
	h2_mem_trim();
}

static const struct proto_ops h2_ops = {
	.name = "h2",
	.input = h2_input,
	.output = h2_output,
	.waits = h2_waits,
	.look = h2_look,
	.ask = h2_ask,
	.tell = h2_tell,
	.drain = h2_drain,
	.drain_ms = H2_DRAIN_MS,
	.close = h2_close,
};

struct proto *h2_open(const struct proto_conf *conf, struct proto_host *host)
{
	struct h2 *h2 = calloc(1, sizeof(*h2));

	if (h2 == NULL)
		return NULL;
	h2->proto.ops = &h2_ops;
	h2->conf = conf;
	h2->host = host;
	h2->gap_hi = -1;
	h2->frames.skip = PREFACE;
	list_init(&h2->streams);
	hpack_init(&h2->hpack);
	window_open(&h2->window, conf->ahead, conf->receive_window, host->conn->account);
	if (shared_init(conf) < 0 || make_session(h2) != 0) {
		drop_session(h2);
		free(h2);
		return NULL;
	}
	COUNT(connections_h2, 1);
	return &h2->proto;
}
