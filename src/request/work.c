/*
 * work: a job of the handlers' threads, for a request that may be gone before it is done. Its
 * memory is its own until done() was called; what the handler gave it is the handler's. Called by
 * handlers, and by handler_call.c at the end.
 */
#include "request/handler_call.h"

#include <stdlib.h>

#include "event/offload.h"

struct work {
	struct job job;
	struct h2d_req *req; /* NULL: gone */
	struct work *next;   /* of the request's */
	h2d_work_run *run;
	h2d_work_done *done;
	void *arg;
	struct crash_call call; /* run()'s; what it says of the request is in text */
	char text[];
};

static void finish(struct work *w)
{
	struct h2d_req *req = w->req;
	h2d_work_done *done = w->done;
	void *arg = w->arg;
	struct crash_call call;

	free(w);
	if (req == NULL) {
		done(NULL, NULL, arg);
		return;
	}
	handler_call_enter(&call, req, req->handler);
	done(req, req->handler_state, arg);
	handler_call_exit();
}

static void in_thread(struct job *j)
{
	struct work *w = LIST_ENTRY(j, struct work, job);

	crash_begin(&w->call);
	w->run(w->arg);
	crash_end();
}

static void in_loop(struct job *j)
{
	struct work *w = LIST_ENTRY(j, struct work, job), **at;

	if (w->req != NULL) {
		for (at = &w->req->works; *at != w; at = &(*at)->next)
			;
		*at = w->next;
	}
	finish(w);
}

/* The thread may tell of the request when that is gone. */
static void note(struct work *w, const struct h2d_req *req)
{
	memcpy(w->text, req->method_text.p, req->method_text.n);
	memcpy(w->text + req->method_text.n, req->target.p, req->target.n);
	w->call = (struct crash_call){ .handler = req->handler->name,
		.method = slice_of(w->text, req->method_text.n),
		.target = slice_of(w->text + req->method_text.n, req->target.n) };
}

int h2d_work(struct h2d_req *req, h2d_work_run *run, h2d_work_done *done, void *job)
{
	struct work *w = malloc(sizeof(*w) + req->method_text.n + req->target.n);

	HANDLER_CALL();
	if (w == NULL)
		return -1;
	*w = (struct work){
		.job = { .work = in_thread,
			.done = in_loop,
			.class = JOB_HANDLER,
			.owner = req->conn },
		.req = req,
		.next = req->works,
		.run = run,
		.done = done,
		.arg = job,
	};
	note(w, req);
	if (offload_submit(req->env->handler_threads, &w->job) < 0) {
		free(w);
		return -1;
	}
	req->works = w;
	return 0;
}

__attribute__((noinline)) void work_leave(struct h2d_req *req)
{
	struct work *w;

	while ((w = req->works) != NULL) {
		req->works = w->next;
		w->req = NULL;
		if (offload_cancel(req->env->handler_threads, &w->job))
			finish(w);
	}
}
