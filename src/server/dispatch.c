/*
 * dispatch: when descriptors or memory are out a source pauses and tries again a little later,
 * because an edge-triggered socket would report no more. A source is watched only while it accepts:
 * for a shared socket (EPOLLEXCLUSIVE) the kernel would wake this worker and no other. The socket
 * or inbox of a slot whose worker died is a source beside the worker's own until the master ends
 * it.
 *
 * From an inbox it receives as many connections at a time as it has room and descriptors for,
 * because one received without a free descriptor is destroyed; a neighbour or a successor can take
 * waiting ones.
 */
#include "server/dispatch.h"

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
#include "ipc/fdpass.h"
#include "net/listener.h"
#include "server/worker.h"

enum { TURN_BUDGET = 64, RETRY_MS = 100, OWN_INBOX = UINT32_MAX >> 1 };

struct source {
	struct list node;
	struct watch watch; /* fd -1: closed */
	struct task again;
	struct timer retry;
	struct dispatch *dispatch;
	const struct worker_listener *listener; /* for another worker's socket: ours beside it;
						   NULL: an inbox */
	uint32_t id;                            /* of the listener, or CTL_INBOX */
	uint32_t slot; /* index among the listener's sockets; of another worker's inbox: its
			  identity */
	bool more;     /* connections may be queued */
	bool last;     /* no other process will take queued ones */
	bool lent;     /* its own process hangs, or there is none */
	unsigned left; /* at the end: connections that may still be taken */
};

struct dispatch {
	struct dispatch_host *host;
	bool paused;
	bool draining;
	unsigned nopen;      /* open sources */
	struct list sources; /* closed ones too, until they are reused or freed at the end */
};

static bool rests(const struct source *s)
{
	const struct dispatch *d = s->dispatch;

	if (timer_armed(&s->retry))
		return true;
	return d->paused && (s->listener == NULL || !conf_listen_is_own(s->listener->conf)) &&
	       (!d->draining || d->host->patient);
}

/* 0, or -errno: tried again each second, by dispatch_look(). */
static int source_watch(struct source *s)
{
	/* If it is lent, the kernel might wake the hanging process, and no other. */
	bool exclusive = s->listener != NULL && s->listener->shared && !s->lent;

	if (s->watch.active || s->watch.fd < 0)
		return 0;
	return loop_watch(
		s->dispatch->host->loop, &s->watch, EPOLLIN | (exclusive ? EPOLLEXCLUSIVE : 0));
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
	timer_disarm(&s->dispatch->host->loop->wheel, &s->retry);
	loop_unwatch(s->dispatch->host->loop, &s->watch);
	close(s->watch.fd);
	s->watch.fd = -1;
	s->more = false;
	s->dispatch->nopen--;
}

/* No event reports connections that wait already, nor the end of the shortage. */
static void source_retry(struct source *s)
{
	timer_arm(&s->dispatch->host->loop->wheel, &s->retry, clock_ms() + RETRY_MS);
}

/* The shortage is the process's: its other shared sockets would fail, too. */
static void source_failed(struct source *s, int error)
{
	COUNT(accept_failures, 1);
	log_peer(LEVEL_ERROR, "%s: %s; retrying in %d ms", s->listener != NULL ? "accept" : "inbox",
		strerror(error), RETRY_MS);
	source_retry(s);
	LIST_EACH(struct source, other, node, &s->dispatch->sources) {
		if (!other->watch.active || other->listener == NULL || !other->listener->shared)
			continue;
		source_retry(other);
		loop_unwatch(other->dispatch->host->loop, &other->watch);
	}
}

static const struct worker_listener *find_listener(const struct dispatch_host *host, uint32_t id)
{
	for (unsigned i = 0; i < host->nlisteners; i++)
		if (host->listeners[i].id == id)
			return &host->listeners[i];
	return NULL;
}

/* --- connections ------------------------------------------------------------------------------ */

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
		source_failed(s, errno);
	}
	/* All other errors are of that connection (accept(2)): continues. */
}

static void take_received(struct source *s, const struct fdpass *c)
{
	struct dispatch_host *host = s->dispatch->host;
	const struct worker_listener *from = find_listener(host, c->listener);

	if (!s->lent)
		host->taken++;
	if (c->fd >= 0 && from != NULL) {
		host->take(host, c->fd, &c->peer, from);
		return;
	}
	COUNT(accept_failures, 1);
	log_peer(LEVEL_ERROR, "inbox: connection dropped: %s",
		c->fd < 0 ? "no descriptor received" : "unknown listener");
	if (c->fd >= 0)
		close(c->fd);
}

/* Returns how many came. */
static unsigned receive(struct source *s)
{
	struct dispatch *d = s->dispatch;
	unsigned n = d->draining ? FDPASS_MAX : d->host->room(d->host);
	struct fdpass conns[FDPASS_MAX];
	int rc;

	/* While it serves, it keeps descriptors free for files. */
	n = fdpass_room(
		s->watch.fd, n < FDPASS_MAX ? n : FDPASS_MAX, d->draining ? FDPASS_SPARE : 0);
	rc = n > 0 ? fdpass_recv(s->watch.fd, conns, n) : -EMFILE;
	for (int i = 0; i < rc; i++)
		take_received(s, &conns[i]);
	if (rc == 0)
		source_close(s); /* no sender is left: this generation ends */
	else if (rc == -EAGAIN)
		s->more = false;
	else if (rc < 0)
		source_failed(s, -rc);
	return rc > 0 ? (unsigned)rc : 0;
}

static void take_some(struct source *s)
{
	struct dispatch *d = s->dispatch;
	unsigned taken = 0;

	while (s->more && !rests(s)) {
		if (taken >= TURN_BUDGET) {
			loop_ready(d->host->loop, &s->again);
			return;
		}
		if (s->listener == NULL) {
			taken += receive(s);
		} else {
			taken++;
			accept_one(s);
		}
	}
	/* An inbox ends with its senders. */
	if (d->draining && !s->more && s->listener != NULL)
		source_close(s);
	if (d->draining && d->nopen == 0)
		d->host->drained(d->host);
}

static void source_event(struct watch *w, uint32_t events)
{
	struct source *s = LIST_ENTRY(w, struct source, watch);

	(void)events;
	s->more = true;
	take_some(s);
}

static void source_again(struct task *t)
{
	take_some(LIST_ENTRY(t, struct source, again));
}

static void source_go_on(struct source *s)
{
	if (rests(s))
		return;
	source_watch(s);
	if (s->more)
		loop_ready(s->dispatch->host->loop, &s->again);
}

static void retry(struct timer *t)
{
	source_go_on(LIST_ENTRY(t, struct source, retry));
}

/* --- sources ---------------------------------------------------------------------------------- */

/* A closed one, or a new one; NULL when memory is out. */
static struct source *source_place(struct dispatch *d)
{
	struct source *s;

	LIST_EACH(struct source, closed, node, &d->sources)
		if (closed->watch.fd < 0)
			return closed;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->dispatch = d;
	s->watch.fn = source_event;
	task_init(&s->again, source_again);
	timer_init(&s->retry, retry);
	list_append(&d->sources, &s->node);
	return s;
}

static struct source *source_open(struct dispatch *d, uint32_t id, uint32_t slot, int fd)
{
	struct source *s = source_place(d);

	if (s == NULL)
		return NULL;
	s->listener = find_listener(d->host, id);
	s->id = id;
	s->slot = slot;
	s->last = s->lent = false;
	s->watch.fd = fd;
	d->nopen++;
	return s;
}

static struct source *source_find(struct dispatch *d, uint32_t id, uint32_t slot)
{
	LIST_EACH(struct source, s, node, &d->sources)
		if (s->watch.fd >= 0 && s->id == id && s->slot == slot)
			return s;
	return NULL;
}

void dispatch_listen(struct dispatch *d, uint32_t id, uint32_t slot, int fd)
{
	struct source *s = source_find(d, id, slot);
	bool lent = s == NULL || s->lent;

	if (d->draining || (id != CTL_INBOX && find_listener(d->host, id) == NULL)) {
		close(fd);
		return;
	}
	if (s != NULL)
		source_close(s);
	s = source_open(d, id, slot, fd);
	if (s == NULL) {
		close(fd);
		return;
	}
	s->lent = lent;
	source_go_on(s);
}

/*
 * A loan ends: the queue stays, the master has the socket, and so has the worker that watches it by
 * now. Or the slot has no worker any more: queued connections move to other sockets, see shrink.
 */
void dispatch_unlisten(struct dispatch *d, uint32_t id, uint32_t slot)
{
	struct source *s = source_find(d, id, slot);

	if (s != NULL && !d->draining)
		source_close(s);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void dispatch_go_on(struct dispatch *d)
{
	LIST_EACH(struct source, s, node, &d->sources)
		source_go_on(s);
}

void dispatch_pause(struct dispatch *d, bool full)
{
	d->paused = full;
	LIST_EACH(struct source, s, node, &d->sources)
		if (rests(s))
			loop_unwatch(d->host->loop, &s->watch);
	dispatch_go_on(d);
}

/*
 * A worker that was woken for a shared socket and is full by now has left connections for which no
 * other was woken. And for connections moved here from another slot's closed socket not every
 * kernel wakes a process.
 */
void dispatch_look(struct dispatch *d)
{
	LIST_EACH(struct source, s, node, &d->sources)
		s->more |= s->watch.fd >= 0 && s->listener != NULL;
	dispatch_go_on(d);
}

/*
 * At most a backlog was queued when the listener's end was decided: later ones of a flood are not
 * awaited. A shared socket is emptied too: EPOLLEXCLUSIVE may have woken this worker and no other.
 */
static void source_drain(struct source *s, uint64_t closing)
{
	if (s->listener == NULL) {
		source_go_on(s);
		return;
	}
	s->last = closing & CTL_LISTENER(s->listener->conf - s->dispatch->host->first);
	if (s->listener->shared || s->last) {
		s->more = true;
		s->left = LISTENER_BACKLOG + 1;
		loop_ready(s->dispatch->host->loop, &s->again);
	} else {
		source_close(s);
	}
}

void dispatch_drain(struct dispatch *d, uint64_t closing)
{
	d->draining = true;
	LIST_EACH(struct source, s, node, &d->sources)
		if (s->watch.fd >= 0)
			source_drain(s, closing);
}

bool dispatch_busy(const struct dispatch *d)
{
	return d->nopen > 0;
}

void dispatch_stop(struct dispatch **dp)
{
	struct dispatch *d = *dp;

	*dp = NULL;
	LIST_EACH(struct source, s, node, &d->sources) {
		source_close(s);
		free(s);
	}
	free(d);
}

static int start_one(struct dispatch *d, uint32_t id, uint32_t slot, int fd)
{
	struct source *s = fd >= 0 ? source_open(d, id, slot, fd) : NULL;

	if (fd < 0)
		return 0;
	return s != NULL ? source_watch(s) : -ENOMEM;
}

struct dispatch *dispatch_start(struct dispatch_host *host)
{
	struct dispatch *d = calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return NULL;
	d->host = host;
	list_init(&d->sources);
	rc = start_one(d, CTL_INBOX, OWN_INBOX, host->inbox);
	for (unsigned i = 0; rc == 0 && i < host->nlisteners; i++)
		rc = start_one(
			d, host->listeners[i].id, host->listeners[i].slot, host->listeners[i].fd);
	if (rc < 0) {
		dispatch_stop(&d);
		errno = -rc;
	}
	return d;
}
