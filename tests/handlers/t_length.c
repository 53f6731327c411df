/*
 * t_length: lengths that wrapped, as a handler with a fault has them. GET /t/length/{what}: bytes
 * takes more off a text than it has, printed believes snprintf(3), later does as bytes from a
 * timer.
 */
#include "h2d/handler.h"

#include <string.h>

static void reply(struct h2d_req *req, size_t len)
{
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", "ok\n", len);
}

static void on_timer(struct h2d_req *req, void *state)
{
	(void)state;
	reply(req, strlen("ok\n") - 5);
}

static bool is(struct h2d_req *req, const char *what)
{
	size_t n;
	const char *p = h2d_req_param(req, "what", &n);

	return n == strlen(what) && memcmp(p, what, n) == 0;
}

static void start(struct h2d_req *req, void *state)
{
	int printed = -1;

	if (is(req, "bytes"))
		on_timer(req, state);
	else if (is(req, "printed"))
		reply(req, (size_t)printed);
	else
		h2d_timer_set(h2d_timer_new(req, on_timer), 0);
}

const struct h2d_handler h2d_handler_t_length = {
	.name = "t_length",
	.start = start,
};
