/* t_wake: GET /t/wake/{ms} is answered by a thread of the handler's own, so much later. */
#include "h2d/handler.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct errand {
	struct h2d_waker *waker;
	unsigned ms;
};

static void *run(void *arg)
{
	struct errand *e = arg;

	usleep(e->ms * 1000);
	h2d_wake(e->waker);
	h2d_waker_free(e->waker);
	free(e);
	return NULL;
}

static void woken(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", "woken", 5);
}

static void start(struct h2d_req *req, void *state)
{
	struct errand *e = calloc(1, sizeof(*e));
	pthread_t thread;

	(void)state;
	e->ms = (unsigned)strtoul(h2d_req_param(req, "ms", NULL), NULL, 10);
	e->waker = h2d_waker_new(req, woken);
	if (e->waker != NULL && pthread_create(&thread, NULL, run, e) == 0) {
		pthread_detach(thread);
		return;
	}
	h2d_waker_free(e->waker);
	free(e);
	h2d_reply_error(req, 503);
}

const struct h2d_handler h2d_handler_t_wake = { .name = "t_wake", .start = start };
