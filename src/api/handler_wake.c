/*
 * handler_wake: wakes that other threads have sent to requests, on a list that the loop empties; an
 * eventfd wakes it. A waker has two owners, its request and the handler, and the last to release it
 * frees it; it leaves the list with its request. Called by handlers, and by handler_worker.c at the
 * end.
 */
#include "request/handler_call.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/handler_worker.h"
#include "event/loop.h"

struct wakes {
	struct watch watch; /* of the eventfd */
	pthread_mutex_t lock;
	struct list sent; /* wakers; under lock, like the next two */
	unsigned wakers;  /* not freed yet */
	bool closed;      /* the loop is over */
};

struct h2d_waker {
	struct belonging belonging; /* of the request */
	struct wakes *wakes;
	h2d_wake_fn *fn;
	struct list node;    /* under lock, like the next two */
	struct h2d_req *req; /* NULL: gone */
	bool held;           /* by the handler */
};

static void free_wakes(struct wakes *s)
{
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Ends the use of w by one of its owners; called under the lock, which it gives back. */
static void let_go(struct h2d_waker *w)
{
	struct wakes *s = w->wakes;
	bool last;

	if (w->req == NULL && !w->held) {
		free(w);
		s->wakers--;
	}
	last = s->closed && s->wakers == 0;
	pthread_mutex_unlock(&s->lock);
	if (last)
		free_wakes(s);
}

/* Only the loop ends requests, so this one lives; it may free w with it. */
static void call(struct h2d_waker *w)
{
	struct h2d_req *req = w->req;

	HANDLER_CALL_DO(req, w->fn(req, req->handler_state));
}

static struct h2d_waker *next(struct wakes *s)
{
	struct list *node;

	pthread_mutex_lock(&s->lock);
	node = list_pop(&s->sent);
	pthread_mutex_unlock(&s->lock);
	return node != NULL ? LIST_ENTRY(node, struct h2d_waker, node) : NULL;
}

/* Wakes from inside of a call are for the next turn. */
static void on_eventfd(struct watch *watch, uint32_t events)
{
	struct wakes *s = LIST_ENTRY(watch, struct wakes, watch);
	struct h2d_waker *w;
	uint64_t n;

	(void)events;
	if (read(watch->fd, &n, sizeof(n)) != sizeof(n))
		return;
	while (n-- > 0 && (w = next(s)) != NULL)
		call(w);
}

static struct wakes *wakes_new(struct loop *loop)
{
	struct wakes *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	list_init(&s->sent);
	pthread_mutex_init(&s->lock, NULL);
	s->watch.fn = on_eventfd;
	s->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->watch.fd >= 0 && loop_watch(loop, &s->watch, EPOLLIN) == 0)
		return s;
	if (s->watch.fd >= 0)
		close(s->watch.fd);
	free_wakes(s);
	return NULL;
}

void handler_wakes_close(struct http_env *env)
{
	struct wakes *s = env->api->wakes;
	bool last;

	if (s == NULL)
		return;
	env->api->wakes = NULL;
	loop_unwatch(env->loop, &s->watch);
	close(s->watch.fd);
	pthread_mutex_lock(&s->lock);
	H2D_ASSERT(list_empty(&s->sent)); /* each request has ended */
	s->closed = true;
	last = s->wakers == 0;
	pthread_mutex_unlock(&s->lock);
	/* Else a handler's thread still has one, and frees it. */
	if (last)
		free_wakes(s);
}

/* The request gets no wake any more. */
static void handler_wake_leave(struct belonging *b)
{
	struct h2d_waker *w = LIST_ENTRY(b, struct h2d_waker, belonging);

	pthread_mutex_lock(&w->wakes->lock);
	w->req = NULL;
	list_remove(&w->node);
	let_go(w);
}

struct h2d_waker *h2d_waker_new(struct h2d_req *req, h2d_wake_fn *fn)
{
	struct http_env *env = req->env;
	struct h2d_waker *w;

	HANDLER_CALL();
	if (env->api->wakes == NULL)
		env->api->wakes = wakes_new(env->loop);
	w = env->api->wakes != NULL ? malloc(sizeof(*w)) : NULL;
	if (w == NULL)
		return NULL;
	*w = (struct h2d_waker){
		.wakes = env->api->wakes,
		.fn = fn,
		.req = req,
		.held = true,
	};
	list_init(&w->node);
	pthread_mutex_lock(&w->wakes->lock);
	w->wakes->wakers++;
	pthread_mutex_unlock(&w->wakes->lock);
	belonging_add(&req->belongings, &w->belonging, handler_wake_leave);
	return w;
}

void h2d_wake(struct h2d_waker *w)
{
	struct wakes *s = w->wakes;

	pthread_mutex_lock(&s->lock);
	if (w->req != NULL && !list_linked(&w->node)) {
		list_append(&s->sent, &w->node);
		(void)!write(s->watch.fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	}
	pthread_mutex_unlock(&s->lock);
}

void h2d_waker_free(struct h2d_waker *w)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->wakes->lock);
	w->held = false;
	let_go(w);
}
