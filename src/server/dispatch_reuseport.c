/*
 * dispatch_reuseport: the worker accepts from its own listening sockets, a bounded number per turn.
 * When descriptors or memory are out it pauses and tries again a little later, because an
 * edge-triggered socket would never speak up again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "server/dispatch.h"
#include "server/worker_state.h"

enum { ACCEPT_BUDGET = 64, RETRY_MS = 100 };

struct source {
	struct watch watch;
	struct task again;
	struct dispatch *dispatch;
	const struct worker_listener *listener;
	bool more;                 /* connections may be queued */
	bool shared;               /* by all workers: a unix socket */
};

struct dispatch {
	struct worker *worker;
	struct timer retry;
	bool paused;
	unsigned n;
	struct source sources[];
};

static void accept_failed(struct dispatch *d, int error)
{
	struct loop *l = &d->worker->loop;

	COUNT(accept_failures, 1);
	log_error("accept: %s; trying again in %d ms", strerror(error), RETRY_MS);
	timer_arm(&l->wheel, &d->retry, clock_ms() + RETRY_MS);
}

/* At most budget connections. */
static void accept_some(struct source *s, unsigned budget)
{
	struct dispatch *d = s->dispatch;

	while (s->more && !d->paused && !timer_armed(&d->retry)) {
		struct addr peer = { .len = sizeof(peer.storage) };
		int fd;

		if (budget-- == 0) {
			loop_ready(&d->worker->loop, &s->again);
			return;
		}
		fd = accept4(s->watch.fd, &peer.sa, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			worker_take(d->worker, fd, &peer, s->listener);
		else if (errno == EAGAIN)
			s->more = false;
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			accept_failed(d, errno);
		/* Everything else is an error of that connection (accept(2)): go on. */
	}
}

static void source_event(struct watch *w, uint32_t events)
{
	struct source *s = LIST_ENTRY(w, struct source, watch);

	(void)events;
	s->more = true;
	accept_some(s, ACCEPT_BUDGET);
}

static void source_again(struct task *t)
{
	accept_some(LIST_ENTRY(t, struct source, again), ACCEPT_BUDGET);
}

static void dispatch_go_on(struct dispatch *d)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->sources[i].more)
			loop_ready(&d->worker->loop, &d->sources[i].again);
}

static void retry(struct timer *t)
{
	dispatch_go_on(LIST_ENTRY(t, struct dispatch, retry));
}

static void reuseport_pause(struct dispatch *d)
{
	d->paused = true;
}

static void reuseport_resume(struct dispatch *d)
{
	d->paused = false;
	dispatch_go_on(d);
}

static void reuseport_stop(struct dispatch **dp)
{
	struct dispatch *d = *dp;
	struct loop *l = &d->worker->loop;

	*dp = NULL;
	timer_disarm(&l->wheel, &d->retry);
	for (unsigned i = 0; i < d->n; i++) {
		struct source *s = &d->sources[i];

		/*
		 * If the master is gone, the queue goes with the socket: take what waits in it. Of a
		 * shared socket too: EPOLLEXCLUSIVE may have woken this worker and no other.
		 */
		if (d->worker->orphan || s->shared) {
			s->more = true;
			d->paused = false;
			accept_some(s, ~0u);
		}
		loop_cancel(&s->again);
		if (s->watch.active)
			loop_unwatch(l, &s->watch);
		close(s->watch.fd);
	}
	free(d);
}

static struct dispatch *reuseport_start(struct worker *w)
{
	const struct worker_args *args = w->args;
	struct dispatch *d = calloc(1, sizeof(*d) + args->nlisteners * sizeof(d->sources[0]));

	if (d == NULL)
		return NULL;
	d->worker = w;
	d->n = args->nlisteners;
	timer_init(&d->retry, retry);
	for (unsigned i = 0; i < d->n; i++) {
		struct source *s = &d->sources[i];
		const struct worker_listener *listener = &args->listeners[i];
		int rv;

		s->dispatch = d;
		s->listener = listener;
		s->shared = listener->addr.sa.sa_family == AF_UNIX;
		s->watch.fn = source_event;
		s->watch.fd = listener->fd;
		task_init(&s->again, source_again);
		rv = loop_watch(&w->loop, &s->watch, EPOLLIN | (s->shared ? EPOLLEXCLUSIVE : 0));
		if (rv < 0) {
			reuseport_stop(&d);
			errno = -rv;
			return NULL;
		}
	}
	return d;
}

const struct dispatch_ops dispatch_reuseport = {
	.name = "reuseport",
	.start = reuseport_start,
	.pause = reuseport_pause,
	.resume = reuseport_resume,
	.stop = reuseport_stop,
};
