/*
 * dispatch_reuseport: when descriptors or memory are out it pauses and tries again a little later,
 * because an edge-triggered socket would report no more. A socket is watched only while it
 * accepts: for a shared one (EPOLLEXCLUSIVE) the kernel would wake this worker and no other. The
 * socket of a slot whose worker died is a source beside the worker's own until the master ends it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/list.h"
#include "base/log.h"
#include "event/loop.h"
#include "ipc/ctl.h"
#include "net/listener.h"
#include "server/dispatch.h"
#include "server/worker.h"

enum { ACCEPT_BUDGET = 64, RETRY_MS = 100 };

struct source {
	struct list node;
	struct watch watch; /* fd -1: closed */
	struct task again;
	struct dispatch *dispatch;
	const struct worker_listener *listener; /* for another worker's socket: ours beside it */
	uint32_t slot;                          /* index among the listener's sockets */
	bool more;                              /* connections may be queued */
	bool last;                              /* no other process will take queued ones */
	bool lent;                              /* its own process hangs, or there is none */
	unsigned left; /* at the end: connections that may still be taken */
};

struct dispatch {
	struct dispatch_host *host;
	struct timer retry;
	bool paused;
	bool draining;
	unsigned nopen;      /* open sources */
	struct list sources; /* closed ones too, until they are reused or freed at the end */
};

#define SOURCE(n) LIST_ENTRY(n, struct source, node)

static bool rests(const struct source *s)
{
	const struct dispatch *d = s->dispatch;

	if (timer_armed(&d->retry))
		return true;
	return d->paused && !conf_listen_is_own(s->listener->conf) &&
	       (!d->draining || d->host->patient);
}

/* 0, or -errno: tried again each second, by look(). */
static int source_watch(struct source *s)
{
	struct loop *l = s->dispatch->host->loop;

	if (s->watch.active || s->watch.fd < 0)
		return 0;
	/* The kernel might wake the hanging process, and no other. */
	return loop_watch(
		l, &s->watch, EPOLLIN | (s->listener->shared && !s->lent ? EPOLLEXCLUSIVE : 0));
}

static void source_unwatch(struct source *s)
{
	if (s->watch.active)
		loop_unwatch(s->dispatch->host->loop, &s->watch);
}

/* Counts connections that are still queued and will be reset. */
static void count_refused(const struct source *s)
{
	struct tcp_info info = { 0 };

	if (s->last && !s->listener->shared &&
		getsockopt(s->watch.fd, IPPROTO_TCP, TCP_INFO, &info,
			&(socklen_t){ sizeof(info) }) == 0)
		COUNT(connections_refused, info.tcpi_unacked);
}

static void source_close(struct source *s)
{
	if (s->watch.fd < 0)
		return;
	count_refused(s);
	loop_cancel(&s->again);
	source_unwatch(s);
	close(s->watch.fd);
	s->watch.fd = -1;
	s->more = false;
	s->dispatch->nopen--;
}

static void accept_failed(struct dispatch *d, int error)
{
	struct loop *l = d->host->loop;

	COUNT(accept_failures, 1);
	log_peer(LEVEL_ERROR, "accept: %s; retrying in %d ms", strerror(error), RETRY_MS);
	timer_arm(&l->wheel, &d->retry, clock_ms() + RETRY_MS);
	LIST_FOREACH(node, &d->sources)
		if (SOURCE(node)->listener->shared)
			source_unwatch(SOURCE(node));
}

static void accept_one(struct source *s)
{
	struct dispatch *d = s->dispatch;
	struct addr peer = { .len = sizeof(peer.storage) };
	int fd = accept4(s->watch.fd, &peer.sa, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		if (d->draining)
			s->more = --s->left > 0;
		d->host->take(d->host, fd, &peer, s->listener);
	} else if (errno == EAGAIN || errno == EINVAL) {
		/* EINVAL: it does not listen yet. Listening wakes its watchers. */
		s->more = false;
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		accept_failed(d, errno);
	}
	/* All other errors are of that connection (accept(2)): continues. */
}

static void accept_some(struct source *s)
{
	struct dispatch *d = s->dispatch;
	unsigned budget = ACCEPT_BUDGET;

	while (s->more && !rests(s)) {
		if (budget-- == 0) {
			loop_ready(d->host->loop, &s->again);
			return;
		}
		accept_one(s);
	}
	if (d->draining && !s->more && s->watch.fd >= 0) {
		source_close(s);
		if (d->nopen == 0)
			d->host->drained(d->host);
	}
}

static void source_event(struct watch *w, uint32_t events)
{
	struct source *s = LIST_ENTRY(w, struct source, watch);

	(void)events;
	s->more = true;
	accept_some(s);
}

static void source_again(struct task *t)
{
	accept_some(LIST_ENTRY(t, struct source, again));
}

static void dispatch_go_on(struct dispatch *d)
{
	LIST_FOREACH(node, &d->sources) {
		struct source *s = SOURCE(node);

		if (rests(s))
			continue;
		source_watch(s);
		if (s->more)
			loop_ready(d->host->loop, &s->again);
	}
}

static void retry(struct timer *t)
{
	dispatch_go_on(LIST_ENTRY(t, struct dispatch, retry));
}

static void reuseport_pause(struct dispatch *d, bool full)
{
	d->paused = full;
	LIST_FOREACH(node, &d->sources)
		if (rests(SOURCE(node)))
			source_unwatch(SOURCE(node));
	dispatch_go_on(d);
}

/*
 * A worker that was woken for a shared socket and is full by now has left connections for which no
 * other was woken. And for connections moved here from another slot's closed socket not every
 * kernel wakes a process.
 */
static void reuseport_look(struct dispatch *d)
{
	LIST_FOREACH(node, &d->sources)
		SOURCE(node)->more |= SOURCE(node)->watch.fd >= 0;
	dispatch_go_on(d);
}

/*
 * At most a backlog was queued when the listener's end was decided: later ones of a flood are not
 * awaited. A shared socket is emptied too: EPOLLEXCLUSIVE may have woken this worker and no other.
 */
static void reuseport_drain(struct dispatch *d, uint64_t closing)
{
	const struct conf_listen *first = d->host->first;

	d->draining = true;
	LIST_FOREACH(node, &d->sources) {
		struct source *s = SOURCE(node);

		if (s->watch.fd < 0)
			continue;
		s->last = closing & CTL_LISTENER(s->listener->conf - first);
		if (s->listener->shared || s->last) {
			s->more = true;
			s->left = LISTENER_BACKLOG + 1;
			loop_ready(d->host->loop, &s->again);
		} else {
			source_close(s);
		}
	}
}

static bool reuseport_busy(const struct dispatch *d)
{
	return d->nopen > 0;
}

static void reuseport_stop(struct dispatch **dp)
{
	struct dispatch *d = *dp;

	*dp = NULL;
	timer_disarm(&d->host->loop->wheel, &d->retry);
	LIST_FOREACH(node, &d->sources) {
		source_close(SOURCE(node));
		free(SOURCE(node));
	}
	free(d);
}

/* --- sources ---------------------------------------------------------------------------------- */

/* A closed one, or a new one; NULL when memory is out. */
static struct source *source_place(struct dispatch *d)
{
	struct source *s;

	LIST_FOREACH(node, &d->sources)
		if (SOURCE(node)->watch.fd < 0)
			return SOURCE(node);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->dispatch = d;
	s->watch.fn = source_event;
	task_init(&s->again, source_again);
	list_append(&d->sources, &s->node);
	return s;
}

static struct source *source_open(
	struct dispatch *d, const struct worker_listener *listener, uint32_t slot, int fd)
{
	struct source *s = source_place(d);

	if (s == NULL)
		return NULL;
	s->listener = listener;
	s->slot = slot;
	s->last = s->lent = false;
	s->watch.fd = fd;
	d->nopen++;
	return s;
}

static struct source *source_find(struct dispatch *d, uint32_t id, uint32_t slot)
{
	LIST_FOREACH(node, &d->sources) {
		struct source *s = SOURCE(node);

		if (s->watch.fd >= 0 && s->listener->id == id && s->slot == slot)
			return s;
	}
	return NULL;
}

const struct worker_listener *dispatch_listener(const struct dispatch_host *host, uint32_t id)
{
	for (unsigned i = 0; i < host->nlisteners; i++)
		if (host->listeners[i].id == id)
			return &host->listeners[i];
	return NULL;
}

static void reuseport_listen(struct dispatch *d, uint32_t id, uint32_t slot, int fd)
{
	const struct worker_listener *listener = dispatch_listener(d->host, id);
	struct source *s = source_find(d, id, slot);
	bool lent = s == NULL || s->lent;

	if (s != NULL && !d->draining)
		source_close(s);
	s = listener != NULL && !d->draining ? source_open(d, listener, slot, fd) : NULL;
	if (s == NULL) {
		close(fd);
		return;
	}
	s->lent = lent;
	if (!rests(s))
		source_watch(s);
}

/*
 * A loan ends: the queue stays, the master has the socket, and so has the worker that watches it by
 * now. Or the slot has no worker any more: queued connections move to other sockets, see shrink.
 */
static void reuseport_unlisten(struct dispatch *d, uint32_t id, uint32_t slot)
{
	struct source *s = source_find(d, id, slot);

	if (s != NULL && !d->draining)
		source_close(s);
}

static struct dispatch *reuseport_start(struct dispatch_host *host)
{
	struct dispatch *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->host = host;
	list_init(&d->sources);
	timer_init(&d->retry, retry);
	for (unsigned i = 0; i < host->nlisteners; i++) {
		const struct worker_listener *l = &host->listeners[i];
		struct source *s;
		int rv;

		if (l->fd < 0)
			continue;
		s = source_open(d, l, l->slot, l->fd);
		rv = s != NULL ? source_watch(s) : -ENOMEM;
		if (rv < 0) {
			reuseport_stop(&d);
			errno = -rv;
			return NULL;
		}
	}
	return d;
}

const struct dispatch_ops dispatch_reuseport = {
	.start = reuseport_start,
	.pause = reuseport_pause,
	.look = reuseport_look,
	.drain = reuseport_drain,
	.busy = reuseport_busy,
	.listen = reuseport_listen,
	.unlisten = reuseport_unlisten,
	.stop = reuseport_stop,
};
