/* status_page: GET /status on admin listeners: a page for people, complete without scripts. */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_field(req, "cache-control", "no-store");
	h2d_reply_status_page(req);
}

const struct h2d_handler h2d_handler_status_page = {
	.name = "status_page",
	.scope = H2D_ON_ADMIN,
	.start = start,
};
