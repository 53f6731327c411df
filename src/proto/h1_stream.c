/* h1_stream: one request on a HTTP/1 connection, from its head to its end, in the request core. */
#include "base/counters.h"
#include "base/log.h"
#include "base/pool.h"
#include "http/reason.h"
#include "proto/h1.h"
#include "request/req_client.h"

#include <ctype.h>

enum { STREAMS_KEPT = 1024 };

static struct pool pool = { .size = sizeof(struct h1_stream), .keep = POOL_KEEP(STREAMS_KEPT) };

/* --- the stream seam -------------------------------------------------------------------------- */

static void h1_stream_wake(struct h1_stream *s)
{
	s->h1->host->wake(s->h1->host);
}

static void stream_reply(struct h2d_req *req)
{
	h1_stream_wake(h1_stream_of(req));
}

static void stream_resume(struct h2d_req *req)
{
	struct h1_stream *s = h1_stream_of(req);

	s->waiting = false;
	h1_stream_wake(s);
}

/* RFC 9110, 15.2: a client of HTTP/1.0 does not know these. */
static void stream_interim(
	struct h2d_req *req, int status, const struct field *fields, unsigned nfields)
{
	struct h1_stream *s = h1_stream_of(req);
	struct strbuf *t = &s->interim;

	if (slice_eq(req->protocol, SLICE("HTTP/1.0")))
		return;
	strbuf_printf(t, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
	for (unsigned i = 0; i < nfields; i++)
		strbuf_printf(
			t, "%.*s: %.*s\r\n", SLICE_ARG(fields[i].name), SLICE_ARG(fields[i].value));
	strbuf_add(t, SLICE("\r\n"));
	h1_stream_wake(s);
}

static void stream_consume(struct h2d_req *req, size_t n)
{
	struct h1_stream *s = h1_stream_of(req);
	bool full = !h1_stream_has_room(s);

	s->unconsumed -= n < s->unconsumed ? n : s->unconsumed;
	/* RFC 9110, 10.1.1: before a reply made of the body. Elsewhere h1_output() checks, at the
	 * end of the turn, if some of the body came all the same. */
	if (n == 0 && s->head.wants_continue && req_body_duplex(req)) {
		s->head.wants_continue = false;
		stream_interim(req, 100, NULL, 0);
	}
	if (full || n == 0)
		h1_stream_wake(s);
}

static void stream_cut(struct h2d_req *req)
{
	struct h1_stream *s = h1_stream_of(req);

	h1_go(s->h1, H1_BROKEN);
	h1_stream_wake(s);
}

static void stream_tunnel(struct h2d_req *req)
{
	struct h1_stream *s = h1_stream_of(req);

	req->has_body = true;
	s->keep = false;
	if (s->part != H1_PART_ENDED)
		h1_part_go(s, H1_PART_ENDED);
	s->h1->tunnel = true;
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

const struct states h1_states = {
	.of = "HTTP/1 connection",
	.rows = {
#define H1_STATE(name, next, help) { #name, next },
#include "proto/h1_state.def"
	},
};

void h1_go(struct h1 *h1, enum h1_state state)
{
	STATES_STEP(&h1_states, h1->state, state);
}

const struct states h1_part_states = {
	.of = "HTTP/1 request",
	.rows = {
#define H1_PART_STATE(name, next, help) { #name, next },
#include "proto/h1_part_state.def"
	},
};

void h1_part_go(struct h1_stream *s, enum h1_part part)
{
	STATES_STEP(&h1_part_states, s->part, part);
}

struct h1_stream *h1_stream_open(struct h1 *h1)
{
	struct h1_stream *s = pool_get(&pool);

	if (s == NULL)
		return NULL;
	req_init(&s->req, h1->conf->env, h1->host->conn, &stream_ops);
	s->req.protocol = SLICE("HTTP/1.1");
	s->req.scheme = h1->host->conn->tls == HTTP_TLS_OURS ? SLICE("https") : SLICE("http");
	s->h1 = h1;
	s->part = H1_PART_HEAD;
	s->head = (struct h1_head){ .length = BODY_UNKNOWN };
	s->chunk = (struct h1_chunk){ 0 };
	s->interim = (struct strbuf){ 0 };
	s->unconsumed = 0;
	s->unwanted = 0;
	s->ahead.turn.held = 0;
	s->keep = s->head_sent = s->chunked = s->waiting = s->asked = false;
	h1_parse_begin(&h1->parse, &s->req.arena, h1->conf->env->conf.header_size);
	h1->proto.requests++;
	return s;
}

void h1_stream_close(struct h1_stream *s)
{
	s->h1->stream = NULL;
	if (s->ahead.turn.held > 0)
		ahead_give(s->h1->conf->ahead, &s->ahead, s->ahead.turn.held);
	req_fini(&s->req);
	strbuf_fini(&s->interim);
	pool_put(&pool, s);
}

void h1_stream_sent(struct h1_stream *s)
{
	struct h1 *h1 = s->h1;

	if (!s->keep)
		h1_close_behind(h1);
	if (s->part == H1_PART_ENDED || h1->state >= H1_CLOSE)
		h1_stream_close(s);
}

bool h1_stream_checks_body(const struct h1_stream *s)
{
	/* A client that waits for 100 has not sent it; a handler that reads it may answer early. */
	return s->head.chunked && s->part != H1_PART_ENDED && !s->head_sent &&
	       s->req.body_state == REQ_BODY_NONE && !s->head.wants_continue &&
	       s->unwanted <= H1_UNWANTED_MAX;
}

void h1_stream_refuse(struct h1_stream *s, int status)
{
	if (s->part == H1_PART_HEAD)
		s->req.authority = s->head.host;
	s->keep = false;
	if (s->part != H1_PART_ENDED)
		h1_part_go(s, H1_PART_ENDED);
	h1_close_behind(s->h1);
	if (s->req.complete) {
		h1_stream_close(s);
		return;
	}
	if (!s->head_sent)
		req_retract(&s->req);
	req_refuse(&s->req, status);
}

void h1_stream_fault(struct h1_stream *s, const struct err *err)
{
	req_fault(&s->req, err);
	if (err->h2_code != 0)
		COUNT(protocol_errors, 1);
	h1_stream_refuse(s, err->status);
}

/* --- the head --------------------------------------------------------------------------------- */

/* LTO by itself makes h1_head_field() a call, as there are two callers. */
static const struct err *got_field(struct h1_stream *s, const struct h1_parse *p)
	__attribute__((flatten));

static const struct err *got_field(struct h1_stream *s, const struct h1_parse *p)
{
	bool keep;
	const struct err *err = h1_head_field(&s->head, p->name, p->value, &keep);

	if (err == NULL && keep && req_field_add(&s->req, p->name, p->value) < 0)
		return ERR_NO_MEMORY;
	return err == NULL && s->req.head_too_large ? ERR_FIELDS_TOO_LARGE : err;
}

/* RFC 9112, 3.2.2 and 3.2.4: an absolute target takes precedence; its rest equals that of h2. */
static const struct err *target(struct h1_stream *s)
{
	struct h2d_req *req = &s->req;
	struct slice rest;
	char *slash;

	req->authority = s->head.host;
	switch (h1_head_absolute(req->target, &req->scheme, &req->authority, &rest)) {
	case 0:
		return NULL;
	case 1:
		req->authority = arena_dup(&req->arena, req->authority);
		if (req->authority.p == NULL)
			return ERR_NO_MEMORY;
		break;
	default:
		return ERR_REQUEST_LINE;
	}
	if (rest.n == 0) {
		req->target =
			slice_eq(req->method_text, SLICE("OPTIONS")) ? SLICE("*") : SLICE("/");
		return NULL;
	}
	if (rest.p[0] == '?') {
		slash = arena_alloc(&req->arena, rest.n + 2);
		if (slash == NULL)
			return ERR_NO_MEMORY;
		slash[0] = '/';
		memcpy(slash + 1, rest.p, rest.n);
		slash[rest.n + 1] = '\0';
		rest = slice_of(slash, rest.n + 1);
	}
	req->target = rest;
	return NULL;
}

void h1_stream_body_ends(struct h1_stream *s)
{
	h1_part_go(s, H1_PART_ENDED);
	req_body_end(&s->req);
	if (s->req.complete)
		h1_stream_sent(s);
}

static void got_head(struct h1_stream *s, unsigned minor)
{
	const struct h1_head *h = &s->head;
	const struct err *err = s->h1->host->conn->tls == HTTP_TLS_MISSED
					? ERR_CLEARTEXT
					: h1_head_end(&s->head, minor);

	if (err == NULL)
		err = target(s);
	if (err != NULL) {
		h1_stream_fault(s, err);
		return;
	}
	s->req.has_body = h->chunked || (h->length > 0 && h->length != BODY_UNKNOWN);
	if (s->req.has_body)
		h1_part_go(s, h->chunked ? H1_PART_CHUNKED : H1_PART_LENGTH);
	s->req.body_length = h->length;
	if (__builtin_expect(h->upgrades, false) && !s->req.has_body && minor > 0 &&
		slice_eq(s->req.method_text, SLICE("GET")))
		s->req.upgrade = h->upgrade;
	/* RFC 9112, 9.3. After CONNECT, though refused, a client may send other bytes than HTTP. */
	s->keep = !h->close && (minor > 0 || h->keep_alive) &&
		  !slice_eq(s->req.method_text, SLICE("CONNECT"));
	req_start(&s->req);
	if (!s->req.has_body)
		h1_stream_body_ends(s);
}

/*
 * The connection's first line has no path, and its third word is not HTTP/: a broken preface of
 * HTTP/2 (RFC 9113, 3.4), or another protocol, to which an answer would be noise. end: behind the
 * wrong byte, if the line has a method.
 */
static bool is_foreign(const struct h1_stream *s, const struct h1_parse *p, const uint8_t *end)
{
	return p->err == ERR_REQUEST_LINE && s->h1->proto.requests == 1 && p->method.n > 0 &&
	       p->target.p[0] != '/' && p->nversion < sizeof("HTTP/") - 1 && isalpha(end[-1]) &&
	       method_parse(p->method) == H2D_METHOD_UNKNOWN;
}

void h1_stream_take(struct h1_stream *s, const uint8_t **data, const uint8_t *end)
{
	struct h1_parse *p = &s->h1->parse;
	const struct err *err = NULL;

	switch (h1_parse_next(p, data, end)) {
	case H1_MORE:
		break;
	case H1_LINE:
		s->req.method_text = p->method;
		s->req.target = p->target;
		s->req.protocol = p->minor > 0 ? SLICE("HTTP/1.1") : SLICE("HTTP/1.0");
		break;
	case H1_FIELD:
		err = got_field(s, p);
		break;
	case H1_END:
		got_head(s, p->minor);
		return;
	case H1_FAULT:
		s->req.method_text = p->method;
		s->req.target = p->target;
		err = p->err;
		if (is_foreign(s, p, *data)) {
			err_log(err, req_client(&s->req));
			COUNT(protocol_errors, 1);
			h1_go(s->h1, H1_BROKEN);
			return;
		}
		break;
	}
	if (err != NULL)
		h1_stream_fault(s, err);
}

enum proto_why h1_stream_why(const struct h1_stream *s)
{
	const struct h2d_req *req = &s->req;

	if (s->part == H1_PART_HEAD)
		return PROTO_WHY_HEAD;
	if (req->complete || (req->reply.ready && h1_stream_checks_body(s)))
		return PROTO_WHY_REST;
	if (req->reply.ready && !s->waiting)
		return PROTO_WHY_SEND;
	if (s->part != H1_PART_ENDED && req_body_flows(req))
		return h1_stream_has_room(s) ? PROTO_WHY_BODY : PROTO_WHY_TAKE;
	if (req->reply.ready)
		return PROTO_WHY_SOURCE;
	return req_is_in_line(req) ? PROTO_WHY_LINE : PROTO_WHY_HANDLER;
}
