/* status: GET /status.json on admin listeners: counters and gauges, per worker and summed. */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_field(req, "cache-control", "no-store");
	h2d_reply_status(req);
}

const struct h2d_handler h2d_handler_status = {
	.name = "status",
	.scope = H2D_ON_ADMIN,
	.start = start,
};
