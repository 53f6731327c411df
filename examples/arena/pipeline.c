/* pipeline: GET /pipeline answers with two bytes. */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_bytes(req, 200, "text/plain", "ok", 2);
}

const struct h2d_handler h2d_handler_pipeline = {
	.name = "pipeline",
	.start = start,
};
