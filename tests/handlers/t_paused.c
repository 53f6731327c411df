/*
 * t_paused: bodies that wait. POST /t/slow pauses at each piece, and goes on when a thread is done
 * with it; its answer is the number of bytes and their sum. POST /t/paused/resume?MS goes on once,
 * after MS milliseconds.
 */
#include "h2d/handler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct paused {
	uint64_t bytes, sum;
	struct h2d_timer *timer;
	bool busy;
};

struct piece {
	uint64_t sum;
	size_t len;
	char bytes[];
};

static void add_up(void *job)
{
	struct piece *p = job;

	for (size_t i = 0; i < p->len; i++)
		p->sum += (unsigned char)p->bytes[i];
}

static void added(struct h2d_req *req, void *state, void *job)
{
	struct paused *s = state;
	struct piece *p = job;

	if (req != NULL) {
		s->busy = false;
		s->bytes += p->len;
		s->sum += p->sum;
		h2d_consume(req, p->len);
		h2d_body_resume(req);
	}
	free(p);
}

static void nothing(struct h2d_req *req, void *state)
{
	(void)req, (void)state;
}

static void slow_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct paused *s = state;
	struct piece *p = malloc(sizeof(*p) + len);

	/* A second piece while the first is worked on would be the server's mistake. */
	if (p == NULL || s->busy) {
		free(p);
		h2d_reply_error(req, 500);
		return;
	}
	p->sum = 0;
	p->len = len;
	memcpy(p->bytes, data, len);
	s->busy = true;
	h2d_body_pause(req);
	if (h2d_work(req, add_up, added, p) < 0) {
		free(p);
		h2d_reply_error(req, 503);
	}
}

static void end(struct h2d_req *req, void *state)
{
	const struct paused *s = state;
	char text[64];
	int n = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, s->bytes, s->sum);

	h2d_reply_bytes(req, s->busy ? 500 : 200, "text/plain; charset=utf-8", text, (size_t)n);
}

const struct h2d_handler h2d_handler_t_slow = {
	.name = "t_slow",
	.state_size = sizeof(struct paused),
	.start = nothing,
	.body = slow_body,
	.end = end,
};

static void on_timer(struct h2d_req *req, void *state)
{
	struct paused *s = state;

	s->busy = false;
	h2d_body_resume(req);
}

static void paused_start(struct h2d_req *req, void *state)
{
	struct paused *s = state;
	char ms[8] = "";
	size_t len;
	const char *query = h2d_req_query(req, &len);

	memcpy(ms, query, len < sizeof(ms) ? len : sizeof(ms) - 1);

	s->timer = h2d_timer_new(req, on_timer);
	if (s->timer == NULL) {
		h2d_reply_error(req, 503);
		return;
	}
	s->busy = true;
	h2d_timer_set(s->timer, strtoul(ms, NULL, 10));
	h2d_body_pause(req);
}

static void paused_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct paused *s = state;

	(void)data;
	s->bytes += len;
	h2d_consume(req, len);
}

const struct h2d_handler h2d_handler_t_paused = {
	.name = "t_paused",
	.state_size = sizeof(struct paused),
	.start = paused_start,
	.body = paused_body,
	.end = end,
};
