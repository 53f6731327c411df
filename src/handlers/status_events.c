/*
 * status_events: GET /status/events on admin listeners: what the page /status shows, once a second
 * as a server-sent event for as long as the client stays. One event is made at a time, when the one
 * before has been taken: a client that reads slowly gets fewer of them. The stream ends when the
 * worker leaves, within a second, and the browser asks the next worker.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY_MS = 1000, FRAME = 64 }; /* FRAME: what is around the text of an event */

struct events {
	struct h2d_timer *timer;
	unsigned long number;
	bool due;
	char *event; /* the one that is being sent; NULL: none is */
	size_t at, len;
};

static void tick(struct h2d_req *req, void *state)
{
	struct events *e = state;

	e->due = true;
	h2d_timer_set(e->timer, EVERY_MS);
	h2d_resume(req);
}

/* -1: memory is out. */
static int make(struct h2d_req *req, struct events *e)
{
	size_t n;
	char *html = h2d_status_html(req, &n);

	e->event = html != NULL ? malloc(n + FRAME) : NULL;
	if (e->event != NULL) {
		/* Browsers that are cut off ask again after a second, not after three. */
		e->len = (size_t)snprintf(e->event, FRAME, "id: %lu\n%sdata: ", e->number + 1,
			e->number == 0 ? "retry: 1000\n" : "");
		memcpy(e->event + e->len, html, n);
		memcpy(e->event + e->len + n, "\n\n", 2);
		e->len += n + 2;
		e->at = 0;
		e->number++;
	}
	free(html);
	return e->event != NULL ? 0 : -1;
}

static void drop(struct events *e)
{
	free(e->event);
	e->event = NULL;
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct events *e = state;
	size_t n;

	if (e->event == NULL) {
		if (h2d_draining(req))
			return 0;
		if (!e->due)
			return H2D_LATER;
		e->due = false;
		if (make(req, e) < 0)
			return H2D_FAIL;
	}
	n = e->len - e->at < cap ? e->len - e->at : cap;
	memcpy(buf, e->event + e->at, n);
	e->at += n;
	if (e->at == e->len)
		drop(e);
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
	(void)req;
	drop(state);
}

const struct h2d_handler h2d_handler_status_events = {
	.name = "status_events",
	.state_size = sizeof(struct events),
	.scope = H2D_ON_ADMIN,
	.start = start,
	.gone = gone,
};
