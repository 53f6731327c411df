/*
 * t_held: /t/held/{where} holds the loop up, in the call that where says: start, body, end, fill,
 * timer, wake, done, watch. None of them does where it says fast.
 */
#define _GNU_SOURCE /* pipe2() */
#include "h2d/handler.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD_MS = 150 };

struct context {
	int ends[2]; /* of a pipe: a byte tells the watch to hold the loop up */
	struct h2d_watch *watch;
};

struct held {
	struct h2d_waker *waker;
	bool filled;
};

static bool is(const struct h2d_req *req, const char *where)
{
	size_t n;
	const char *asked = h2d_req_param(req, "where", &n);

	return n == strlen(where) && memcmp(asked, where, n) == 0;
}

static void hold(void)
{
	usleep(HELD_MS * 1000);
}

static void answer(struct h2d_req *req)
{
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", "held", 4);
}

static void on_watch(void *arg, unsigned changes)
{
	struct context *c = arg;
	char byte;

	if ((changes & H2D_READABLE) != 0 && read(c->ends[0], &byte, 1) == 1)
		hold();
}

static void on_call(struct h2d_req *req, void *state)
{
	(void)state;
	hold();
	answer(req);
}

static void run(void *job)
{
	(void)job;
}

static void done(struct h2d_req *req, void *state, void *job)
{
	(void)job;
	if (req != NULL)
		on_call(req, state);
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct held *s = state;

	(void)req;
	if (s->filled || cap < 4)
		return 0;
	s->filled = true;
	hold();
	memcpy(buf, "held", 4);
	return 4;
}

static void start_other(struct h2d_req *req, struct held *s)
{
	struct context *c = h2d_worker_context(h2d_req_worker(req));

	if (is(req, "timer")) {
		h2d_timer_set(h2d_timer_new(req, on_call), 1);
	} else if (is(req, "wake")) {
		s->waker = h2d_waker_new(req, on_call);
		h2d_wake(s->waker);
	} else if (is(req, "done")) {
		h2d_work(req, run, done, s);
	} else if (is(req, "fill")) {
		h2d_reply_stream(req, 200, "text/plain; charset=utf-8", fill);
	} else if (is(req, "watch")) {
		(void)!write(c->ends[1], "x", 1);
		answer(req);
	}
}

static void start(struct h2d_req *req, void *state)
{
	if (is(req, "start"))
		hold();
	if (is(req, "start") || is(req, "fast"))
		answer(req);
	else
		start_other(req, state);
}

static void body(struct h2d_req *req, void *state, const char *data, size_t n)
{
	(void)state, (void)data;
	h2d_consume(req, n);
	if (is(req, "body"))
		hold();
}

static void end(struct h2d_req *req, void *state)
{
	(void)state;
	if (is(req, "end"))
		hold();
	answer(req);
}

static void gone(struct h2d_req *req, void *state)
{
	struct held *s = state;

	(void)req;
	h2d_waker_free(s->waker);
}

static int worker_init(struct h2d_worker *worker, void **context)
{
	struct context *c = calloc(1, sizeof(*c));

	*context = c;
	if (c == NULL || pipe2(c->ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	c->watch = h2d_watch_new(worker, c->ends[0], on_watch, c);
	return c->watch != NULL ? 0 : -1;
}

static void worker_exit(void *context)
{
	struct context *c = context;

	h2d_watch_free(c->watch);
	close(c->ends[0]);
	close(c->ends[1]);
	free(c);
}

const struct h2d_handler h2d_handler_t_held = {
	.name = "t_held",
	.state_size = sizeof(struct held),
	.start = start,
	.body = body,
	.end = end,
	.gone = gone,
	.worker_init = worker_init,
	.worker_exit = worker_exit,
};
