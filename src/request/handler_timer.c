/*
 * handler_timer: a timer of the loop's wheel that belongs to a request and lies in its arena. The
 * request knows all of its own, so that none outlives it. Called by handlers, and by handler_call.c
 * at the end.
 */
#include "request/handler_call.h"

#include "base/clock.h"

struct h2d_timer {
	struct timer timer;
	struct h2d_req *req;
	h2d_timer_fn *fn;
	struct h2d_timer *next; /* of the request's */
};

static void fired(struct timer *timer)
{
	struct h2d_timer *t = LIST_ENTRY(timer, struct h2d_timer, timer);

	struct crash_call call;

	handler_call_enter(&call, t->req, t->req->handler);
	t->fn(t->req, t->req->handler_state);
	handler_call_exit();
}

struct h2d_timer *h2d_timer_new(struct h2d_req *req, h2d_timer_fn *fn)
{
	struct h2d_timer *t = arena_alloc(&req->arena, sizeof(*t));

	if (t == NULL)
		return NULL;
	timer_init(&t->timer, fired);
	t->req = req;
	t->fn = fn;
	t->next = req->timers;
	req->timers = t;
	return t;
}

void h2d_timer_set(struct h2d_timer *t, uint64_t ms)
{
	uint64_t now = clock_ms();

	/* For a handler that means never. */
	timer_arm(&t->req->env->loop->wheel, &t->timer,
		ms < UINT64_MAX - now ? now + ms : UINT64_MAX);
}

void h2d_timer_stop(struct h2d_timer *t)
{
	timer_disarm(&t->req->env->loop->wheel, &t->timer);
}

void handler_timer_leave(struct h2d_req *req)
{
	for (struct h2d_timer *t = req->timers; t != NULL; t = t->next)
		h2d_timer_stop(t);
	req->timers = NULL;
}
