/*
 * t_worker: at home in the worker. GET /t/worker answers with what its timer and its watch have
 * counted since worker_init(); where T_WORKER_FAILS is in the environment, that fails.
 */
#define _GNU_SOURCE /* pipe2() */
#include "h2d/handler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EVERY_MS = 10 };

struct context {
	int ends[2]; /* of a pipe: each tick writes a byte, the watch reads it */
	struct h2d_timer *timer;
	struct h2d_watch *watch;
	unsigned ticks, bytes;
};

static void on_tick(struct h2d_req *req, void *context)
{
	struct context *c = context;

	c->ticks += req == NULL;
	if (write(c->ends[1], "x", 1) == 1)
		h2d_timer_set(c->timer, EVERY_MS);
}

static void on_pipe(void *arg, unsigned changes)
{
	struct context *c = arg;
	char buf[16];
	ssize_t n;

	while ((changes & H2D_READABLE) != 0 && (n = read(c->ends[0], buf, sizeof(buf))) > 0)
		c->bytes += (unsigned)n;
}

static int worker_init(struct h2d_worker *worker, void **context)
{
	struct context *c = calloc(1, sizeof(*c));

	if (c == NULL || getenv("T_WORKER_FAILS") != NULL) {
		free(c);
		errno = EACCES;
		return -1;
	}
	*context = c;
	if (pipe2(c->ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	c->timer = h2d_worker_timer_new(worker, on_tick);
	c->watch = h2d_watch_new(worker, c->ends[0], on_pipe, c);
	if (c->timer == NULL || c->watch == NULL)
		return -1;
	h2d_timer_set(c->timer, EVERY_MS);
	return 0;
}

static void worker_exit(void *context)
{
	struct context *c = context;

	h2d_watch_free(c->watch);
	close(c->ends[0]);
	close(c->ends[1]);
	free(c);
}

static void start(struct h2d_req *req, void *state)
{
	const struct context *c = h2d_worker_context(h2d_req_worker(req));
	char text[64];

	(void)state;
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text,
		(size_t)snprintf(text, sizeof(text), "%u %u", c->ticks, c->bytes));
}

const struct h2d_handler h2d_handler_t_worker = {
	.name = "t_worker",
	.start = start,
	.worker_init = worker_init,
	.worker_exit = worker_exit,
};
