/*
 * events: GET /events is a stream of server-sent events, one a second for as long as the client
 * stays; /events?250 sends one every 250 milliseconds. A client that reads slowly gets fewer
 * events, and no memory is held for it. When the worker leaves, fill is called once more and ends
 * the stream, and the browser's EventSource asks again: the next worker answers.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <time.h>

enum { EVERY_MS = 1000, EVERY_MIN = 10, EVERY_MAX = 60000 };

struct events {
	struct h2d_timer *timer;
	uint64_t every_ms;
	unsigned long number;
	bool due;
};

static void tick(struct h2d_req *req, void *state)
{
	struct events *e = state;

	e->due = true;
	h2d_timer_set(e->timer, e->every_ms);
	h2d_resume(req);
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct events *e = state;

	if (h2d_draining(req))
		return 0;
	if (!e->due)
		return H2D_LATER;
	e->due = false;
	return snprintf(buf, cap, "id: %lu\ndata: %lld\n\n", ++e->number, (long long)time(NULL));
}

/* The number in the query; with what is no digit in it, as if there were none. */
static uint64_t every(const struct h2d_req *req)
{
	size_t len;
	const char *p = h2d_req_query(req, &len);
	uint64_t ms = 0;

	for (size_t i = 0; i < len && ms <= EVERY_MAX; i++) {
		if (p[i] < '0' || p[i] > '9')
			return EVERY_MS;
		ms = 10 * ms + (uint64_t)(p[i] - '0');
	}
	return ms < EVERY_MIN || ms > EVERY_MAX ? EVERY_MS : ms;
}

static void start(struct h2d_req *req, void *state)
{
	struct events *e = state;

	e->timer = h2d_timer_new(req, tick);
	if (e->timer == NULL) {
		h2d_reply_error(req, 503);
		return;
	}
	e->every_ms = every(req);
	e->due = true;
	h2d_timer_set(e->timer, e->every_ms);
	h2d_reply_header(req, "cache-control", "no-store");
	h2d_reply_stream(req, 200, "text/event-stream; charset=utf-8", fill);
}

const struct h2d_handler h2d_handler_events = {
	.name = "events",
	.state_size = sizeof(struct events),
	.start = start,
};
