/*
 * handler_timer: a timer of the loop's wheel that belongs to a request, in its arena, or to a
 * worker, on the heap. Each knows all of its own, so that none outlives it. Called by handlers, and
 * by handler_worker.c at the end.
 */
#include "request/handler_call.h"

#include <stdlib.h>

#include "api/handler_worker.h"
#include "base/clock.h"

struct h2d_timer {
	struct belonging belonging; /* of the request; its node is on the worker's list else */
	struct timer timer;
	struct wheel *wheel;
	struct h2d_req *req; /* NULL: a worker's */
	struct h2d_worker *worker;
	h2d_timer_fn *fn;
};

static void handler_timer_fired(struct timer *timer)
{
	struct h2d_timer *t = LIST_ENTRY(timer, struct h2d_timer, timer);
	struct crash_call call;

	if (t->req == NULL) {
		handler_worker_enter(&call, t->worker);
		t->fn(NULL, t->worker->context);
		handler_call_exit();
		return;
	}
	HANDLER_CALL_DO(t->req, t->fn(t->req, t->req->handler_state));
}

static void handler_timer_leave(struct belonging *b)
{
	h2d_timer_stop(LIST_ENTRY(b, struct h2d_timer, belonging));
}

static void handler_timer_init(struct h2d_timer *t, struct http_env *env, h2d_timer_fn *fn)
{
	timer_init(&t->timer, handler_timer_fired);
	t->wheel = &env->loop->wheel;
	t->fn = fn;
}

struct h2d_timer *h2d_timer_new(struct h2d_req *req, h2d_timer_fn *fn)
{
	struct h2d_timer *t = arena_zalloc(&req->arena, sizeof(*t));

	HANDLER_CALL();
	if (t == NULL)
		return NULL;
	handler_timer_init(t, req->env, fn);
	t->req = req;
	belonging_add(&req->belongings, &t->belonging, handler_timer_leave);
	return t;
}

struct h2d_timer *h2d_worker_timer_new(struct h2d_worker *worker, h2d_timer_fn *fn)
{
	struct h2d_timer *t = calloc(1, sizeof(*t));

	HANDLER_CALL();
	if (t == NULL)
		return NULL;
	handler_timer_init(t, worker->env, fn);
	t->worker = worker;
	list_append(&worker->timers, &t->belonging.node);
	return t;
}

void h2d_timer_set(struct h2d_timer *t, uint64_t ms)
{
	uint64_t now = clock_ms();

	HANDLER_CALL();
	/* Means never for a handler. */
	timer_arm(t->wheel, &t->timer, ms < UINT64_MAX - now ? now + ms : UINT64_MAX);
}

void h2d_timer_stop(struct h2d_timer *t)
{
	HANDLER_CALL();
	timer_disarm(t->wheel, &t->timer);
}

void handler_timer_free(struct h2d_worker *w)
{
	LIST_TAKE(struct h2d_timer, t, belonging.node, &w->timers) {
		h2d_timer_stop(t);
		free(t);
	}
}
