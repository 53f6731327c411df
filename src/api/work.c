/*
 * work: a job of the handlers' threads, for a request that may end first. It owns its memory until
 * done() was called; the handler owns what it passed. Called by handlers.
 */
#include "request/handler_call.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "api/handler_worker.h"
#include "api/work_line.h"
#include "base/clock.h"
#include "base/counters.h"
#include "request/req_client.h"

struct work {
	struct work_turn turn;
	struct belonging belonging; /* of the request */
	struct http_env *env;
	struct timer late;
	struct h2d_req *req; /* NULL: ended */
	h2d_work_run *run;
	h2d_work_done *done;
	void *arg;
	int error;              /* errno left by run(); 0: none */
	struct crash_call call; /* run()'s; its texts about the request are in text */
	char text[];
};

/* The work whose run() this thread is in; NULL: none. */
static _Thread_local const struct work *running;

/* Once: others lack its thread and memory, and it may hang for ever. */
static void on_late(struct timer *t)
{
	const struct work *w = LIST_ENTRY(t, struct work, late);

	COUNT(work_late, 1);
	log_peer(LEVEL_ERROR, "handler %s: its work has %s for %" PRIu64 " seconds: %.*s %.*s",
		w->call.handler, work_line_waits(&w->turn) ? "waited for a thread" : "not returned",
		w->env->conf.handler_ms / 1000, SLICE_ARG(w->call.method),
		w->call.target.n < 100 ? (int)w->call.target.n : 100, w->call.target.p);
}

static void work_finish(struct work *w)
{
	struct h2d_req *req = w->req;
	h2d_work_done *done = w->done;
	void *arg = w->arg;
	struct crash_call call = { .handler = w->call.handler };

	timer_disarm(&w->env->loop->wheel, &w->late);
	handler_refused_look(w->call.handler, w->error);
	free(w);
	if (req == NULL) {
		handler_call_begin(&call);
		done(NULL, NULL, arg);
		handler_call_exit();
		return;
	}
	HANDLER_CALL_DO(req, done(req, req->handler_state, arg));
}

static void ended(void *ctx)
{
	(void)ctx;
	handler_rule_call("run()", "ended its thread, which is the server's (pthread_exit)");
}

static void in_thread(struct work_turn *t)
{
	struct work *w = LIST_ENTRY(t, struct work, turn);

	running = w;
	crash_begin(&w->call);
	pthread_cleanup_push(ended, NULL);
	errno = 0;
	w->run(w->arg);
	w->error = errno;
	pthread_cleanup_pop(0);
	crash_end();
	running = NULL;
}

bool h2d_work_unwanted(const void *job)
{
	if (running == NULL || running->arg != job)
		handler_rule_call(__func__, "was called outside of run() of that job");
	return job_unwanted(&running->turn.job);
}

static void in_loop(struct work_turn *t)
{
	struct work *w = LIST_ENTRY(t, struct work, turn);

	if (w->req != NULL)
		list_remove(&w->belonging.node);
	work_finish(w);
}

/* Drops work that no thread has begun, and calls its done() now; the rest gets done() without a
 * request. */
static void work_leave(struct belonging *b)
{
	struct work *w = LIST_ENTRY(b, struct work, belonging);

	w->req = NULL;
	if (work_line_leave(&w->turn))
		work_finish(w);
}

int h2d_work(struct h2d_req *req, h2d_work_run *run, h2d_work_done *done, void *job)
{
	struct work *w = malloc(sizeof(*w) + req->method_text.n + req->target.n);

	HANDLER_CALL();
	if (w == NULL)
		return -1;
	*w = (struct work){
		.turn = { .work = in_thread, .done = in_loop },
		.env = req->env,
		.req = req,
		.run = run,
		.done = done,
		.arg = job,
	};
	/* The thread may report the request after its end. */
	memcpy(w->text, req->method_text.p, req->method_text.n);
	memcpy(w->text + req->method_text.n, req->target.p, req->target.n);
	w->call = (struct crash_call){ .handler = req->handler->name,
		.method = slice_of(w->text, req->method_text.n),
		.target = slice_of(w->text + req->method_text.n, req->target.n) };
	if (work_line_join(req->env->api->work_line, &w->turn, req_account(req)) < 0) {
		free(w);
		return -1;
	}
	timer_init(&w->late, on_late);
	if (req->env->conf.handler_ms > 0)
		timer_arm(&req->env->loop->wheel, &w->late, clock_ms() + req->env->conf.handler_ms);
	belonging_add(&req->belongings, &w->belonging, work_leave);
	return 0;
}
