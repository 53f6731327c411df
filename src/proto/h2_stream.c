/*
 * h2_stream: one stream and its request: its head, its reply (RFC 9113, 8), and the credit for its
 * body, by window.c, with PINGs to measure the path. All credit is given here: nghttp2 only counts
 * it.
 */
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/pool.h"
#include "http/authority.h"
#include "proto/h2.h"
#include "request/handler_call.h"

enum {
	STREAMS_KEPT = 4096,
	/* Bytes: as many are made at once even for a slow peer (stream_turn.c), so a shorter
	 * response delays no other, and by turns 64 KiB took a tenth more. */
	TURNS_LEAST = 64 * 1024,
};

static struct pool pool = { .size = sizeof(struct h2_stream), .keep = POOL_KEEP(STREAMS_KEPT) };

/* --- credit ----------------------------------------------------------------------------------- */

static const uint8_t probe[8] = { 'h', '2', 'd', 'w', 'i', 'd', 't', 'h' };

/* The window, with the credit that the client has. */
static struct window *window_of(struct h2 *h2)
{
	int32_t told = nghttp2_session_get_local_window_size(h2->session);

	h2->window.told = told > 0 ? (uint32_t)told : 0;
	return &h2->window;
}

static void give(struct h2 *h2, int32_t id, uint32_t n)
{
	nghttp2_submit_window_update(h2->session, NGHTTP2_FLAG_NONE, id, (int32_t)n);
	h2->host->wake(h2->host);
}

void h2_window_give(struct h2 *h2, bool eager)
{
	const struct window *w = window_of(h2);
	uint32_t n = window_due(w->size, w->held - w->lent, w->told, eager);

	if (n > 0)
		give(h2, 0, n);
}

static void give_stream(struct h2_stream *s, bool eager)
{
	uint32_t size = s->share.size > 0 ? s->share.size : NGHTTP2_INITIAL_WINDOW_SIZE, n;

	if (s->peer_done)
		return;
	n = window_due(size, s->share.held,
		nghttp2_session_get_stream_local_window_size(s->h2->session, s->id), eager);
	if (n > 0)
		give(s->h2, s->id, n);
}

/* Announces the wider window, and the shares that may grow. */
static void widened(struct h2 *h2)
{
	h2_window_give(h2, true);
	LIST_EACH(struct h2_stream, s, node, &h2->streams)
		if (window_share(&h2->window, &s->share))
			give_stream(s, true);
}

static void h2_window_ask(struct h2 *h2)
{
	if (!h2->window.asks || h2->window.asked)
		return;
	window_asked(&h2->window, h2->now_ms);
	nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, probe);
	h2->host->wake(h2->host);
}

bool h2_window_answered(struct h2 *h2, const uint8_t opaque[8])
{
	bool asked = h2->window.asked && memcmp(opaque, probe, sizeof(probe)) == 0;

	if (asked)
		window_answered(&h2->window, h2->now_ms);
	return asked;
}

static bool h2_window_make_way(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;

	if (h2->nstreams < 2)
		return true;
	LIST_EACH(struct h2_stream, other, node, &h2->streams) {
		if (!window_in_the_way(&h2->window))
			return true;
		if (window_lend(window_of(h2), &other->share))
			h2_window_give(h2, false);
	}
	return !window_in_the_way(&h2->window) || s->share.held == s->share.lent;
}

/* --- the stream seam -------------------------------------------------------------------------- */

/* A request with a priority shows a peer that uses them, so that its requests without one mean the
 * default. */
static void look_for_priority(struct h2_stream *s)
{
	if (field_find(s->req.fields, s->req.nfields, SLICE("priority")) != NULL)
		s->h2->prioritizes = true;
}

/*
 * A peer without priorities may have requested a page's parts, or unrelated files: its long
 * responses take turns, so that none waits for the end of another (RFC 9218, 10). With priorities
 * from the peer, a request without one means the default: in order.
 */
static void take_turns(struct h2_stream *s)
{
	const nghttp2_extpri by_turns = { .urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1 };

	look_for_priority(s);
	if (!s->h2->prioritizes)
		nghttp2_session_change_extpri_stream_priority(s->h2->session, s->id, &by_turns, 0);
}

/* A 2xx would mean a WebSocket (RFC 9110, 9.3.6), which the handler has not opened. */
static __attribute__((cold, noinline)) void refuse_content(struct h2_stream *s)
{
	HANDLER_SLIP(&s->req, "content in reply to a WebSocket handshake; resetting the stream");
	nghttp2_submit_rst_stream(s->h2->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR);
	s->h2->host->wake(s->h2->host);
}

static void stream_reply(struct h2d_req *req)
{
	struct h2_stream *s = h2_stream_of(req);
	struct reply *r = &req->reply;
	nghttp2_data_provider provider = { .source.ptr = s, .read_callback = h2_out_read };
	int rv;

	h2_stream_waits(s, false);
	if (__builtin_expect(req->upgrade.n > 0, false) && r->status / 100 == 2) {
		refuse_content(s);
		return;
	}
	s->h2->unsent++;
	if (r->content && r->body.left > TURNS_LEAST && !s->h2->prioritizes)
		take_turns(s);
	/* h2_out.c adds the headers when it is sent. */
	rv = nghttp2_submit_response(s->h2->session, s->id, NULL, 0, r->content ? &provider : NULL);
	if (r->content && r->body.ops->rest != NULL && h2_out_closed(s, 0))
		r->body.ops->rest(&r->body);
	if (rv != 0)
		nghttp2_submit_rst_stream(
			s->h2->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR);
	s->h2->host->wake(s->h2->host);
}

static void stream_resume(struct h2d_req *req)
{
	struct h2_stream *s = h2_stream_of(req);

	if (!s->waiting)
		return;
	h2_stream_waits(s, false);
	nghttp2_session_resume_data(s->h2->session, s->id);
	s->h2->host->wake(s->h2->host);
}

/* nghttp2 writes it, so it must take no place in the peer's table, which h2_out.c keeps. */
static nghttp2_nv interim_field(struct slice name, struct slice value)
{
	union {
		const char *in;
		uint8_t *out;
	} n = { name.p }, v = { value.p };

	return (nghttp2_nv){ n.out, v.out, name.n, value.n, NGHTTP2_NV_FLAG_NO_INDEX };
}

static void stream_interim(
	struct h2d_req *req, int status, const struct field *fields, unsigned nfields)
{
	struct h2_stream *s = h2_stream_of(req);
	nghttp2_nv nv[1 + STREAM_INTERIM_FIELDS_MAX];
	const char text[] = { (char)('0' + status / 100), (char)('0' + status / 10 % 10),
		(char)('0' + status % 10) };

	/* There may be many interim responses, so they do not use the request's memory: nghttp2
	 * copies. */
	H2D_ASSERT(nfields <= STREAM_INTERIM_FIELDS_MAX);
	nv[0] = interim_field(SLICE(":status"), slice_of(text, sizeof(text)));
	for (unsigned i = 0; i < nfields; i++)
		nv[1 + i] = interim_field(fields[i].name, fields[i].value);
	nghttp2_submit_headers(
		s->h2->session, NGHTTP2_FLAG_NONE, s->id, NULL, nv, 1 + nfields, NULL);
	s->h2->host->wake(s->h2->host);
}

/* RFC 9110, 10.1.1: the body is awaited, and none of it came. */
static void say_continue(struct h2_stream *s)
{
	struct h2d_req *req = &s->req;

	if (s->continued || s->share.came > 0 || s->peer_done ||
		(!req_body_flows(req) && !req_body_duplex(req)) || !req_expects_continue(req))
		return;
	s->continued = true;
	stream_interim(req, 100, NULL, 0);
}

void h2_stream_body(struct h2_stream *s, const void *data, size_t n)
{
	if (window_came(window_of(s->h2), &s->share, n, s->h2->now_ms))
		widened(s->h2);
	h2_window_ask(s->h2);
	req_body(&s->req, data, n);
	/* The place that it waits for may be held by other streams of the connection. */
	if (!h2_window_make_way(s) && req_is_in_line(&s->req))
		req_refuse(&s->req, ERR_NO_MEMORY->status);
}

static void stream_consume(struct h2d_req *req, size_t n)
{
	struct h2_stream *s = h2_stream_of(req);

	if (n > 0) {
		if (window_taken(window_of(s->h2), &s->share, n, clock_ms()))
			widened(s->h2);
		h2_window_ask(s->h2);
		h2_window_give(s->h2, false);
		give_stream(s, false);
	} else {
		say_continue(s);
	}
	/* The first piece that a handler takes shows that more will come. */
	if (!s->peer_done && req_body_flows(req) && window_widen(window_of(s->h2), &s->share))
		widened(s->h2);
}

static void stream_cut(struct h2d_req *req)
{
	struct h2_stream *s = h2_stream_of(req);

	nghttp2_submit_rst_stream(s->h2->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
	s->h2->host->wake(s->h2->host);
}

/* DATA goes on as body, and the reply is a 2xx. */
static void stream_tunnel(struct h2d_req *req)
{
	req->upgrade.n = 0;
}

static const struct stream_ops stream_ops = {
	.reply = stream_reply,
	.resume = stream_resume,
	.consume = stream_consume,
	.interim = stream_interim,
	.cut = stream_cut,
	.tunnel = stream_tunnel,
};

/* --- its life --------------------------------------------------------------------------------- */

struct h2_stream *h2_stream_open(struct h2 *h2, int32_t id)
{
	struct h2_stream *s = pool_get(&pool);

	if (s == NULL)
		return NULL;
	req_init(&s->req, h2->conf->env, h2->host->conn, &stream_ops);
	s->req.protocol = SLICE("HTTP/2.0");
	s->h2 = h2;
	s->id = id;
	s->waiting = s->peer_done = s->continued = s->nameless = s->headed = false;
	s->unwanted = 0;
	s->share = (struct window_share){ 0 };
	s->patience.for_what = H2_PATIENCE_NONE;
	list_append(&h2->streams, &s->node);
	if (h2->due == NULL)
		h2->due = s;
	h2->nstreams++;
	h2->proto.requests++;
	if (h2->drain == H2_DRAIN_FIRST)
		h2_drain_notice(h2);
	COUNT(streams, 1);
	return s;
}

void h2_stream_close(struct h2_stream *s)
{
	h2_stream_waits(s, false);
	if (s->h2->opening == s) {
		s->h2->opening = NULL;
		s->h2->header_open = false;
	}
	if (s->h2->sending == s)
		s->h2->sending = NULL;
	if (s->h2->due == s)
		s->h2->due = NULL;
	list_remove(&s->node);
	s->h2->nstreams--;
	if (s->h2->err != NULL)
		req_record_error(&s->req.record, s->h2->err);
	else if (s->h2->own != NULL)
		req_record_error(&s->req.record, s->h2->own);
	req_fini(&s->req);
	/* Bytes that a handler has not taken lose their owner at its end. */
	if (s->share.length > 0) {
		if (window_leave(window_of(s->h2), &s->share))
			widened(s->h2);
		h2_window_give(s->h2, false);
	}
	pool_put(&pool, s);
}

enum proto_why h2_stream_why(const struct h2_stream *s)
{
	nghttp2_session *session = s->h2->session;
	const struct h2d_req *req = &s->req;

	if (s == s->h2->opening)
		return PROTO_WHY_HEAD;
	if ((!req->reply.ready || s->waiting) && !s->peer_done && req_body_flows(req))
		return nghttp2_session_get_stream_local_window_size(session, s->id) > 0 &&
				       nghttp2_session_get_local_window_size(session) > 0
			       ? PROTO_WHY_BODY
			       : PROTO_WHY_TAKE;
	if (!req->reply.ready)
		return req_is_in_line(req) ? PROTO_WHY_LINE : PROTO_WHY_HANDLER;
	if (!req->reply.content || req->complete)
		return s->peer_done ? PROTO_WHY_SEND : PROTO_WHY_REST;
	if (s->waiting)
		return PROTO_WHY_SOURCE;
	return h2_out_closed(s, 0) ? PROTO_WHY_WINDOW : PROTO_WHY_SEND;
}

/* RFC 9113, 8.3.1: Host replaces an absent :authority. False: they differ, or Host is empty. */
static bool take_host(struct h2d_req *req)
{
	const struct field *host = field_find(req->fields, req->nfields, SLICE("host"));

	if (host == NULL)
		return true;
	if (host->value.n == 0)
		return false;
	if (req->authority.n == 0)
		req->authority = host->value;
	return slice_ieq(authority_host(host->value), authority_host(req->authority));
}

/* nghttp2 has checked that it is a number, and checks that the body has that length. */
static void set_length(struct h2d_req *req)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("content-length"));

	if (f == NULL)
		return;
	req->body_length = 0;
	for (size_t i = 0; i < f->value.n; i++)
		req->body_length = 10 * req->body_length + (uint64_t)(f->value.p[i] - '0');
}

void h2_stream_start(struct h2_stream *s)
{
	struct h2d_req *req = &s->req;

	h2_stream_waits(s, true);
	if (s->h2->proto.requests == 1)
		look_for_priority(s);
	/* nghttp2 has checked that an extended CONNECT has all parts (RFC 8441, 4). */
	if (__builtin_expect(req->upgrade.n > 0, false) &&
		(!req->has_body || (!slice_eq(req->scheme, SLICE("https")) &&
					   !slice_eq(req->scheme, SLICE("http")))))
		req->upgrade.n = 0;
	if (req->has_body) {
		set_length(req);
		s->share.length = req->body_length;
	}
	if (take_host(req)) {
		req_start(req);
	} else {
		req_record_error(&req->record, ERR_HOST);
		req_refuse(req, ERR_HOST->status);
	}
	if (!req->has_body)
		return;
	say_continue(s);
	if (s->waiting || req_body_duplex(req)) {
		window_expect(&s->h2->window, &s->share);
		h2_window_ask(s->h2);
	}
	h2_window_make_way(s);
}
