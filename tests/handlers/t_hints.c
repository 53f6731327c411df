/*
 * t_hints: GET /t/hints/{when} sends 103 with two fields, and 102 from a timer where {when} is
 * later; then it answers.
 */
#include "h2d/handler.h"

static void reply(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", "ok\n", 3);
}

static void on_timer(struct h2d_req *req, void *state)
{
	h2d_reply_interim(req, 102, NULL, 0);
	h2d_timer_set(h2d_timer_new(req, reply), 1);
	(void)state;
}

static void start(struct h2d_req *req, void *state)
{
	static const struct h2d_header hints[] = {
		{ "link", "</a.css>; rel=preload; as=style" },
		{ "x-hint", "a" },
	};

	h2d_reply_interim(req, 103, hints, 2);
	if (h2d_req_param(req, "when", NULL)[0] == 'l')
		h2d_timer_set(h2d_timer_new(req, on_timer), 1);
	else
		reply(req, state);
}

const struct h2d_handler h2d_handler_t_hints = {
	.name = "t_hints",
	.start = start,
};
