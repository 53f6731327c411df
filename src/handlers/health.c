/*
 * health: 200 while serving, 503 while this worker drains; for load balancers. GET /healthz of
 * admin listeners, and the path that a server calls its health (env->health of the request core).
 */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	bool draining = h2d_draining(req);
	const char *text = draining ? "draining\n" : "ok\n";

	(void)state;
	h2d_reply_field(req, "cache-control", "no-store");
	h2d_reply_bytes(req, draining ? 503 : 200, "text/plain; charset=utf-8", text,
		draining ? sizeof("draining\n") - 1 : sizeof("ok\n") - 1);
}

const struct h2d_handler h2d_handler_health = {
	.name = "health",
	.scope = H2D_ON_ADMIN,
	.start = start,
};
