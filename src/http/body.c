/*
 * body: the sources that need nothing but memory: bytes, and a handler's fill. Files are cache/'s.
 * Called by protocols while they make output.
 */
#include "http/body.h"

#include "http/req.h"

enum { FILL_SIZE = 16384 };

static ssize_t memory_ready(struct body *b, size_t want)
{
	return (ssize_t)(b->left < want ? b->left : want);
}

static int memory_emit(struct body *b, size_t n, struct outq *q)
{
	const char *p = b->p;

	b->p += n;
	b->left -= n;
	return b->ref != NULL ? outq_borrow(q, p, n, b->ref) : outq_copy(q, p, n);
}

static void memory_seek(struct body *b, uint64_t at, uint64_t n)
{
	b->p = b->first + at;
	b->left = n;
}

static void memory_close(struct body *b)
{
	if (b->ref != NULL)
		ref_put(b->ref);
}

static const struct body_ops memory_ops = {
	.name = "memory",
	.ready = memory_ready,
	.emit = memory_emit,
	.seek = memory_seek,
	.close = memory_close,
};

void body_memory(struct body *b, const void *p, size_t n, struct ref *ref)
{
	b->ops = &memory_ops;
	b->left = n;
	b->p = b->first = p;
	b->ref = ref;
	if (ref != NULL)
		ref_get(ref);
}

void body_close(struct body *b)
{
	if (b->ops != NULL)
		b->ops->close(b);
	body_none(b);
}

/* --- a handler's fill: what it wrote waits in the request's arena until it is emitted -------------- */

static ssize_t fill_ready(struct body *b, size_t want)
{
	struct h2d_req *req = b->req;
	size_t have = req->fill_len - req->fill_off;

	if (have == 0) {
		ssize_t n = req->fill(req, req->handler_state, req->fill_buf, FILL_SIZE);

		H2D_ASSERT(n <= FILL_SIZE);
		if (n == H2D_LATER)
			return BODY_LATER;
		if (n < 0)
			return BODY_FAILED;
		if (n == 0) {
			b->left = 0;
			return 0;
		}
		req->fill_off = 0;
		req->fill_len = have = (size_t)n;
	}
	return (ssize_t)(have < want ? have : want);
}

static int fill_emit(struct body *b, size_t n, struct outq *q)
{
	struct h2d_req *req = b->req;
	const char *p = req->fill_buf + req->fill_off;

	req->fill_off += n;
	return outq_copy(q, p, n);
}

static void fill_close(struct body *b)
{
	(void)b; /* its buffer is the arena's */
}

static const struct body_ops fill_ops = {
	.name = "fill",
	.ready = fill_ready,
	.emit = fill_emit,
	.close = fill_close,
};

void h2d_reply_stream(struct h2d_req *req, int status, const char *type, h2d_fill *fill)
{
	struct body *b = &req->reply.body;

	req->fill = fill;
	req->fill_buf = arena_alloc(&req->arena, FILL_SIZE);
	if (req->fill_buf == NULL ||
		(type != NULL && h2d_reply_field(req, "content-type", type) < 0)) {
		req_error(req, ERR_NO_MEMORY->status);
		return;
	}
	b->ops = &fill_ops;
	b->req = req;
	b->left = BODY_UNKNOWN;
	reply_send(req, status);
}
