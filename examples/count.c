/*
 * count: POST /count takes a body of any size, piece by piece, and answers with how many bytes it
 * had and their FNV-1a hash. Memory does not grow with the body; the client sends as fast as the
 * handler gives credit back.
 */
#include "h2d/handler.h"

#include <inttypes.h>

struct count {
	uint64_t bytes, hash;
};

static void start(struct h2d_req *req, void *state)
{
	struct count *c = state;

	(void)req;
	c->hash = UINT64_C(0xcbf29ce484222325);
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct count *c = state;

	for (size_t i = 0; i < len; i++)
		c->hash = (c->hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
	c->bytes += len;
	h2d_consume(req, len);
}

static void end(struct h2d_req *req, void *state)
{
	const struct count *c = state;

	h2d_reply_printf(req, 200, H2D_JSON,
		"{\"bytes\":%" PRIu64 ",\"fnv1a\":\"%016" PRIx64 "\"}\n", c->bytes, c->hash);
}

const struct h2d_handler h2d_handler_count = {
	.name = "count",
	.state_size = sizeof(struct count),
	.start = start,
	.body = body,
	.end = end,
};
