/* metrics: GET /metrics on admin listeners: counters, gauges and histograms, for Prometheus. */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_field(req, "cache-control", "no-store");
	h2d_reply_metrics(req);
}

const struct h2d_handler h2d_handler_metrics = {
	.name = "metrics",
	.scope = H2D_ON_ADMIN,
	.start = start,
};
