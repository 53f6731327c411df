/* hello: GET /hello/NAME greets NAME. */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_printf(req, 200, H2D_TEXT, "Hello, %s!\n", h2d_req_param(req, "name", NULL));
}

const struct h2d_handler h2d_handler_hello = { .name = "hello", .start = start };
