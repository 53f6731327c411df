/*
 * status_events: GET /status/events on admin listeners: what the page /status shows, once a second
 * as a server-sent event for as long as the client stays. One event is made at a time, when the one
 * before has been taken: a client that reads slowly gets fewer of them. The stream ends when the
 * worker leaves, and the browser asks the next worker.
 */
#include "board/admin.h"
#include "board/status_html.h"

enum { EVERY_MS = 1000 };

struct events {
	struct h2d_timer *timer;
	unsigned long number;
	bool due;
	struct strbuf event; /* the one that is being sent; n 0: none is */
	size_t at;
};

static void tick(struct h2d_req *req, void *state)
{
	struct events *e = state;

	e->due = true;
	h2d_timer_set(e->timer, EVERY_MS);
	h2d_resume(req);
}

static void make(const struct h2d_req *req, struct events *e)
{
	/* Browsers that are cut off ask again after a second, not after three. */
	strbuf_printf(&e->event, "id: %lu\n%sdata: ", e->number + 1,
		e->number == 0 ? "retry: 1000\n" : "");
	status_html(req->env->admin->board, &e->event);
	strbuf_add(&e->event, SLICE("\n\n"));
	e->at = 0;
	e->number++;
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct events *e = state;
	size_t n;

	if (e->event.n == 0) {
		if (h2d_draining(req))
			return 0;
		if (!e->due)
			return H2D_LATER;
		e->due = false;
		make(req, e);
		if (e->event.failed)
			return H2D_FAIL;
	}
	n = e->event.n - e->at < cap ? e->event.n - e->at : cap;
	memcpy(buf, e->event.p + e->at, n);
	e->at += n;
	if (e->at == e->event.n)
		strbuf_fini(&e->event);
	return (ssize_t)n;
}

static void start(struct h2d_req *req, void *state)
{
	struct events *e = state;

	e->timer = h2d_timer_new(req, tick);
	if (e->timer == NULL) {
		h2d_reply_error(req, 503);
		return;
	}
	e->due = true;
	h2d_timer_set(e->timer, EVERY_MS);
	h2d_reply_field(req, "cache-control", "no-store");
	h2d_reply_stream(req, 200, "text/event-stream; charset=utf-8", fill);
}

static void gone(struct h2d_req *req, void *state)
{
	struct events *e = state;

	(void)req;
	strbuf_fini(&e->event);
}

const struct h2d_handler h2d_handler_status_events = {
	.name = "status_events",
	.state_size = sizeof(struct events),
	.scope = H2D_ON_ADMIN,
	.start = start,
	.gone = gone,
};
