/*
 * reply_stream: a response whose content a handler makes piece by piece (h2d_reply_stream() of
 * h2d/handler.h), and interim responses before it. Owns the buffer that the handler fills, in the
 * request's arena: content waits there until the protocol takes it. Never asks for more before.
 */
#include <inttypes.h>

#include "request/handler_call.h"
#include "request/req_body.h"

enum { FILL_SIZE = 16384 };

/* Bytes of interim responses of a request: those of a client that does not read wait in memory. */
enum { INTERIM_MAX = 64000, INTERIM_HEAD = 32 };

struct reply_stream {
	h2d_fill *fill;
	size_t off, len; /* of buf: written bytes, not taken yet */
	bool sized;      /* its length was given: body.left counts down */
	char buf[FILL_SIZE];
};

/* Calls the handler's fill. */
static ssize_t fill_buf(struct reply_stream *s, struct h2d_req *req, char *buf, size_t cap)
{
	ssize_t n;

	HANDLER_CALL_DO(req, n = s->fill(req, req->handler_state, buf, cap);
			HANDLER_MUST(req, n <= (ssize_t)cap, FILL));
	return n;
}

/* True: the given length is not that of the content: n bytes, or the end. */
static bool breaks_word(struct reply_stream *s, struct body *b, size_t n)
{
	char more;

	if (n > 0 && n < b->left)
		return false;
	if (n == 0)
		HANDLER_SLIP(b->req,
			"content ends %" PRIu64 " bytes before its stated length; cutting it off",
			b->left);
	/* At that length one more call checks that there is no more. */
	else if (n > b->left || fill_buf(s, b->req, &more, 1) > 0)
		HANDLER_SLIP(b->req, "content exceeds its stated length; cutting it off");
	else
		return false;
	return true;
}

static ssize_t stream_ready(struct body *b, size_t want)
{
	struct reply_stream *s = b->src;
	size_t have = s->len - s->off;

	if (have == 0) {
		ssize_t n = fill_buf(s, b->req, s->buf, FILL_SIZE);

		if (n == H2D_LATER)
			return BODY_LATER;
		if (n <= 0 || (uint64_t)n >= b->left)
			req_body_over(b->req);
		if (n < 0 || (s->sized && breaks_word(s, b, (size_t)n)))
			return BODY_FAILED;
		if (n == 0) {
			b->left = 0;
			return 0;
		}
		s->off = 0;
		s->len = have = (size_t)n;
	}
	return (ssize_t)(have < want ? have : want);
}

static int stream_emit(struct body *b, size_t n, struct outq *q)
{
	struct reply_stream *s = b->src;
	const char *p = s->buf + s->off;

	s->off += n;
	if (s->sized)
		b->left -= n;
	return outq_copy(q, p, n);
}

static const struct body_ops stream_ops = {
	.name = "stream",
	.ready = stream_ready,
	.emit = stream_emit,
};

/* NULL: the request has its answer. */
static struct reply_stream *stream_new(struct h2d_req *req, const char *type, h2d_fill *fill)
{
	struct reply_stream *s;

	if (!reply_given_type(req, type))
		return NULL;
	s = arena_alloc(&req->arena, sizeof(*s));
	if (s == NULL) {
		reply_no_memory(req, sizeof(*s));
		return NULL;
	}
	s->fill = fill;
	s->off = s->len = 0;
	return s;
}

/* length: BODY_UNKNOWN, or the handler's. */
static void reply_stream(
	struct h2d_req *req, int status, const char *type, uint64_t length, h2d_fill *fill)
{
	struct body *b = &req->reply.body;
	struct reply_stream *s = stream_new(req, type, fill);

	if (s == NULL)
		return;
	s->sized = length != BODY_UNKNOWN;
	b->ops = &stream_ops;
	b->req = req;
	b->left = length;
	b->src = s;
	if (req->handler->duplex &&
		(req->body_state == REQ_BODY_FLOWS || req->body_state == REQ_BODY_PAUSED))
		reply_send_duplex(req, status);
	else
		reply_send(req, status);
}

void h2d_reply_stream(struct h2d_req *req, int status, const char *type, h2d_fill *fill)
{
	HANDLER_CALL();
	if (HANDLER_MAY(req, ONCE))
		reply_stream(req, status, type, BODY_UNKNOWN, fill);
}

void h2d_reply_stream_sized(
	struct h2d_req *req, int status, const char *type, uint64_t length, h2d_fill *fill)
{
	HANDLER_CALL();
	if (!HANDLER_MAY(req, ONCE))
		return;
	HANDLER_MUST(req, length <= PTRDIFF_MAX, LENGTH);
	reply_stream(req, status, type, length, fill);
}

int h2d_reply_trailer(struct h2d_req *req, const char *name, const char *value)
{
	struct body *b = &req->reply.body;
	struct slice n = slice_str(name), v = slice_str(value);

	HANDLER_CALL();
	/* A message of HTTP/1.1 with a known length has no place for them. */
	if (!req->reply.ready || b->ops != &stream_ops || b->left != BODY_UNKNOWN ||
		!reply_field_valid(n, v))
		return -1;
	return trailers_add(&b->trailers, &req->arena, TRAILERS_SIZE, n, v) == 0 ? 0 : -1;
}

int h2d_reply_interim(struct h2d_req *req, int status, const struct h2d_header *headers, unsigned n)
{
	struct field checked[STREAM_INTERIM_FIELDS_MAX];
	size_t size = INTERIM_HEAD;

	HANDLER_CALL();
	if (!HANDLER_MAY(req, INTERIM))
		return -1;
	HANDLER_MUST(req, status >= 102 && status <= 199, STATUS);
	if (n > STREAM_INTERIM_FIELDS_MAX)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		checked[i] =
			(struct field){ slice_str(headers[i].name), slice_str(headers[i].value) };
		if (!reply_field_valid(checked[i].name, checked[i].value))
			return -1;
		size += checked[i].name.n + checked[i].value.n;
	}
	if (size > INTERIM_MAX - req->interim_size)
		return -1;
	req->interim_size += (unsigned)size;
	req->stream->interim(req, status, checked, n);
	return 0;
}
