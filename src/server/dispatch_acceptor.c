/*
 * dispatch_acceptor: the worker receives as many connections at a time as it has room and
 * descriptors for, because one received without a free descriptor is destroyed; a neighbour or a
 * successor can take waiting ones. Admin listeners are the worker's own, by dispatch_reuseport: an
 * operator can connect even if every inbox is full.
 */
#include <errno.h>
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
#include "server/dispatch.h"
#include "server/worker.h"

enum { TURN_BUDGET = 64, RETRY_MS = 100 };

/* An inbox: the worker's own, or one whose worker is dead, hangs or drains. */
struct inbox {
	struct list node;
	struct watch watch; /* fd -1: closed */
	struct task again;
	struct dispatch *dispatch;
	uint32_t id; /* of another worker's */
	bool own;
	bool more; /* connections may wait */
};

struct dispatch {
	struct dispatch_host *host;
	struct dispatch_host direct_host; /* of the worker's own listeners */
	struct dispatch *direct;
	struct timer retry;
	bool paused;
	bool draining;
	struct list inboxes; /* closed ones too, until they are reused or freed at the end */
	unsigned nopen;
};

#define INBOX(n) LIST_ENTRY(n, struct inbox, node)

static bool rests(const struct dispatch *d)
{
	return timer_armed(&d->retry) || (d->paused && !d->draining);
}

static bool acceptor_busy(const struct dispatch *d)
{
	return d->nopen > 0 || dispatch_reuseport.busy(d->direct);
}

static void tell_if_done(struct dispatch *d)
{
	if (d->draining && !acceptor_busy(d))
		d->host->drained(d->host);
}

static void inbox_close(struct inbox *in)
{
	if (in->watch.fd < 0)
		return;
	loop_cancel(&in->again);
	if (in->watch.active)
		loop_unwatch(in->dispatch->host->loop, &in->watch);
	close(in->watch.fd);
	in->watch.fd = -1;
	in->more = false;
	in->dispatch->nopen--;
}

/* --- connections ------------------------------------------------------------------------------ */

static void take_one(struct inbox *in, const struct fdpass *c)
{
	struct dispatch_host *host = in->dispatch->host;
	const struct worker_listener *from = dispatch_listener(host, c->listener);

	if (in->own)
		++*host->taken;
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

/* No event reports connections that wait already, nor the end. */
static void try_again(struct dispatch *d, int error)
{
	log_peer(LEVEL_ERROR, "inbox: %s; retrying in %d ms", strerror(error), RETRY_MS);
	timer_arm(&d->host->loop->wheel, &d->retry, clock_ms() + RETRY_MS);
}

/* The number that may be received now; 0 with a retry: no descriptors. */
static unsigned room(struct dispatch *d, int fd)
{
	unsigned n = d->draining ? FDPASS_MAX : d->host->room(d->host);

	/* While it serves, it keeps descriptors free for files. */
	n = fdpass_room(fd, n < FDPASS_MAX ? n : FDPASS_MAX, d->draining ? FDPASS_SPARE : 0);
	if (n == 0) {
		COUNT(accept_failures, 1);
		try_again(d, EMFILE);
	}
	return n;
}

/* Returns how many came. */
static unsigned receive(struct inbox *in)
{
	struct fdpass conns[FDPASS_MAX];
	unsigned n = room(in->dispatch, in->watch.fd);
	int rc = n > 0 ? fdpass_recv(in->watch.fd, conns, n) : 0;

	if (n == 0)
		return 0;
	for (int i = 0; i < rc; i++)
		take_one(in, &conns[i]);
	if (rc > 0)
		return (unsigned)rc;
	in->more = rc < 0 && rc != -EAGAIN;
	if (rc == 0)
		inbox_close(in); /* no sender is left: this generation ends */
	else if (in->more)
		try_again(in->dispatch, -rc);
	return 0;
}

static void receive_some(struct inbox *in)
{
	struct dispatch *d = in->dispatch;
	unsigned taken = 0;

	while (in->more && !rests(d)) {
		if (taken >= TURN_BUDGET) {
			loop_ready(d->host->loop, &in->again);
			return;
		}
		taken += receive(in);
	}
	tell_if_done(d);
}

static void inbox_event(struct watch *w, uint32_t events)
{
	struct inbox *in = LIST_ENTRY(w, struct inbox, watch);

	(void)events;
	in->more = true;
	receive_some(in);
}

static void inbox_again(struct task *t)
{
	receive_some(LIST_ENTRY(t, struct inbox, again));
}

static void inboxes_go_on(struct dispatch *d)
{
	LIST_FOREACH(node, &d->inboxes)
		if (INBOX(node)->more && !rests(d))
			loop_ready(d->host->loop, &INBOX(node)->again);
}

static void retry(struct timer *t)
{
	inboxes_go_on(LIST_ENTRY(t, struct dispatch, retry));
}

/* --- the strategy ----------------------------------------------------------------------------- */

static void acceptor_pause(struct dispatch *d, bool full)
{
	d->paused = full;
	dispatch_reuseport.pause(d->direct, full);
	inboxes_go_on(d);
}

static void acceptor_look(struct dispatch *d)
{
	dispatch_reuseport.look(d->direct);
}

/* The acceptor's end and the master's will soon close: reads waiting ones first. */
static void acceptor_drain(struct dispatch *d, uint64_t closing)
{
	d->draining = true;
	dispatch_reuseport.drain(d->direct, closing);
	inboxes_go_on(d);
}

/* A closed one, or a new one; NULL when memory is out. */
static struct inbox *inbox_place(struct dispatch *d)
{
	struct inbox *in;

	LIST_FOREACH(node, &d->inboxes)
		if (INBOX(node)->watch.fd < 0)
			return INBOX(node);
	in = calloc(1, sizeof(*in));
	if (in == NULL)
		return NULL;
	in->dispatch = d;
	in->watch = (struct watch){ .fn = inbox_event, .fd = -1 };
	task_init(&in->again, inbox_again);
	list_append(&d->inboxes, &in->node);
	return in;
}

static int inbox_open(struct dispatch *d, uint32_t id, int fd, bool own)
{
	struct inbox *in = inbox_place(d);
	int rc;

	if (in == NULL)
		return -ENOMEM;
	in->watch.fd = fd;
	rc = loop_watch(d->host->loop, &in->watch, EPOLLIN);
	if (rc < 0) {
		in->watch.fd = -1;
		return rc;
	}
	in->id = id;
	in->own = own;
	d->nopen++;
	return 0;
}

static struct inbox *find_lent(struct dispatch *d, uint32_t id)
{
	LIST_FOREACH(node, &d->inboxes) {
		struct inbox *in = INBOX(node);

		if (!in->own && in->watch.fd >= 0 && in->id == id)
			return in;
	}
	return NULL;
}

static void acceptor_listen(struct dispatch *d, uint32_t id, uint32_t slot, int fd)
{
	if (id != CTL_INBOX)
		dispatch_reuseport.listen(d->direct, id, slot, fd);
	else if (d->draining || find_lent(d, slot) != NULL || inbox_open(d, slot, fd, false) < 0)
		close(fd);
}

static void acceptor_unlisten(struct dispatch *d, uint32_t id, uint32_t slot)
{
	struct inbox *in = id == CTL_INBOX ? find_lent(d, slot) : NULL;

	if (id != CTL_INBOX)
		dispatch_reuseport.unlisten(d->direct, id, slot);
	else if (in != NULL && !d->draining)
		inbox_close(in);
}

static void acceptor_stop(struct dispatch **dp)
{
	struct dispatch *d = *dp;

	*dp = NULL;
	if (d->direct != NULL)
		dispatch_reuseport.stop(&d->direct);
	timer_disarm(&d->host->loop->wheel, &d->retry);
	LIST_FOREACH(node, &d->inboxes) {
		inbox_close(INBOX(node));
		free(INBOX(node));
	}
	free(d);
}

/* --- its own listeners ------------------------------------------------------------------------ */

static void direct_take(struct dispatch_host *direct, int fd, const struct addr *peer,
	const struct worker_listener *from)
{
	struct dispatch_host *host = LIST_ENTRY(direct, struct dispatch, direct_host)->host;

	host->take(host, fd, peer, from);
}

static void direct_drained(struct dispatch_host *direct)
{
	tell_if_done(LIST_ENTRY(direct, struct dispatch, direct_host));
}

static struct dispatch *acceptor_start(struct dispatch_host *host)
{
	struct dispatch *d = calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return NULL;
	d->host = host;
	d->direct_host = *host;
	d->direct_host.take = direct_take;
	d->direct_host.drained = direct_drained;
	list_init(&d->inboxes);
	timer_init(&d->retry, retry);
	d->direct = dispatch_reuseport.start(&d->direct_host);
	rc = d->direct != NULL ? inbox_open(d, 0, host->inbox, true) : -errno;
	if (rc < 0) {
		acceptor_stop(&d);
		errno = -rc;
	}
	return d;
}

const struct dispatch_ops dispatch_acceptor = {
	.start = acceptor_start,
	.pause = acceptor_pause,
	.look = acceptor_look,
	.drain = acceptor_drain,
	.busy = acceptor_busy,
	.listen = acceptor_listen,
	.unlisten = acceptor_unlisten,
	.stop = acceptor_stop,
};
