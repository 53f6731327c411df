/*
 * t_thread: slips of what handlers do in threads, as tests/system/test_47_misuse.py asks for them.
 * GET /t/thread/{what} makes the one that is called so.
 */
#include "h2d/handler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct errand {
	struct h2d_req *req;
	char what[16];
};

static void fault(const struct errand *e)
{
	volatile int *volatile nowhere = NULL;

	(void)e;
	*nowhere = 1;
}

static int no_end(const char *before)
{
	char frame[4096] = { before[0] };
	int (*volatile again)(const char *) = no_end;

	return again(frame) + frame[1];
}

static void overflow(const struct errand *e)
{
	no_end(e->what);
}

static void end(const struct errand *e)
{
	(void)e;
	abort();
}

static void quit(const struct errand *e)
{
	(void)e;
	exit(0);
}

static void leave(const struct errand *e)
{
	(void)e;
	pthread_exit(NULL);
}

/* Goes on until nobody wants it. */
static void unwanted(const struct errand *e)
{
	while (!h2d_work_unwanted(e))
		usleep(1000);
}

static void unwanted_of_another(const struct errand *e)
{
	h2d_work_unwanted(e->what + 1);
}

/* The request is the loop's. */
static void reply(const struct errand *e)
{
	h2d_reply_error(e->req, 500);
}

static const struct {
	const char *name;
	void (*fn)(const struct errand *e);
} slips[] = {
	{ "abort", end },
	{ "exit", leave },
	{ "fault", fault },
	{ "other", unwanted_of_another },
	{ "overflow", overflow },
	{ "quit", quit },
	{ "reply", reply },
	{ "unwanted", unwanted },
};

static void run(void *job)
{
	const struct errand *e = job;

	for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++)
		if (strcmp(slips[i].name, e->what) == 0)
			slips[i].fn(e);
}

static void done(struct h2d_req *req, void *state, void *job)
{
	(void)state;
	free(job);
	if (req != NULL)
		h2d_reply_error(req, 500);
}

static void start(struct h2d_req *req, void *state)
{
	size_t n;
	const char *what = h2d_req_param(req, "what", &n);
	struct errand *e = calloc(1, sizeof(*e));

	(void)state;
	if (e != NULL && n < sizeof(e->what)) {
		memcpy(e->what, what, n);
		e->req = req;
		if (h2d_work(req, run, done, e) == 0)
			return;
	}
	free(e);
	h2d_reply_error(req, 503);
}

const struct h2d_handler h2d_handler_t_thread = {
	.name = "t_thread",
	.start = start,
};
