/*
 * upload: POST /upload answers with how many bytes of body came. They are counted as they come and
 * kept nowhere.
 */
#include "h2d/handler.h"

#include <inttypes.h>
#include <stdio.h>

struct upload {
	uint64_t bytes;
};

static void start(struct h2d_req *req, void *state)
{
	(void)req, (void)state;
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	(void)data;
	((struct upload *)state)->bytes += len;
	h2d_consume(req, len);
}

static void end(struct h2d_req *req, void *state)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, ((struct upload *)state)->bytes);

	h2d_reply_bytes(req, 200, "text/plain", text, (size_t)n);
}

const struct h2d_handler h2d_handler_upload = {
	.name = "upload",
	.state_size = sizeof(struct upload),
	.start = start,
	.body = body,
	.end = end,
};
