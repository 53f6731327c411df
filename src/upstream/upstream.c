/*
 * upstream: see upstream.h. A request gets an idle link of the peer with the fewest requests, the
 * one used last, or a new one. A peer that fails is left alone for a time that doubles, unless all
 * others have failed later.
 */
#include "upstream/upstream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

enum {
	IDLE_MS = 30000,     /* an idle link is kept; most applications close earlier */
	REST_MS = 1000,      /* a peer is left alone after its first failure */
	REST_MAX_MS = 30000, /* and after many */
};

struct upstream_peer {
	struct upstreams *all;
	const struct site_peer *site;
	struct name name;  /* its addresses are tried in turn */
	unsigned next;     /* address */
	unsigned busy;     /* links that requests have */
	struct list idle;  /* links, the last used first */
	unsigned failures; /* since its last answer */
	uint64_t rests_ms; /* clock_ms() until which others are asked */
};

struct upstream {
	struct upstreams *all;
	const struct site_proxy *site;
	struct list waiting; /* struct link_turn, the first comes first */
	unsigned nwaiting;
	unsigned busy;    /* links that requests have */
	unsigned limit;   /* of these */
	struct task turn; /* gives links to waiting requests */
	unsigned first;   /* of the peers, next time */
};

struct upstreams {
	struct loop *loop;
	struct upstreams_host *host;
	bool draining;
	bool leaving;         /* the loop has ended: no event batch can still have a link */
	struct budget budget; /* links of requests: a client gets half of the free ones */
	struct upstream_peer *peers;
	unsigned npeers;
	struct upstream *v;
	unsigned n;
};

struct slice link_name(const struct link_turn *t)
{
	return t->link != NULL ? t->link->peer->site->name
			       : t->of->all->peers[t->of->site->peers[0]].site->name;
}

/* --- links ------------------------------------------------------------------------------------ */

static void link_free(struct task *t)
{
	free(LIST_ENTRY(t, struct link, free));
}

static void link_close(struct link *l)
{
	struct loop *loop = l->peer->all->loop;

	timer_disarm(&loop->wheel, &l->idle);
	list_remove(&l->node);
	loop_unwatch(loop, &l->watch);
	close(l->watch.fd);
	COUNT(upstream_connections, -1);
	if (l->peer->all->leaving)
		free(l);
	else
		loop_defer(loop, &l->free);
}

static void link_idles(struct timer *t)
{
	link_close(LIST_ENTRY(t, struct link, idle));
}

/* On an idle one comes its end, or nothing that anybody asked for. */
static void link_event(struct watch *w, uint32_t events)
{
	struct link *l = LIST_ENTRY(w, struct link, watch);

	if (l->turn != NULL)
		l->turn->event(l->turn, events);
	else if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		link_close(l);
}

/* A new link of p. NULL with errno. */
static struct link *link_open(struct upstream_peer *p)
{
	const struct addr *to;
	struct link *l;
	int fd;

	name_want(&p->name);
	if (p->name.n == 0) {
		errno = EADDRNOTAVAIL;
		return NULL;
	}
	to = &p->name.addrs[p->next % p->name.n];
	fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	l = fd >= 0 ? malloc(sizeof(*l)) : NULL;
	if (l == NULL)
		goto fail;
	*l = (struct link){ .watch = { .fn = link_event, .fd = fd }, .peer = p };
	list_init(&l->node);
	timer_init(&l->idle, link_idles);
	task_init(&l->free, link_free);
	if (to->sa.sa_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	if ((connect(fd, &to->sa, to->len) < 0 && errno != EINPROGRESS) ||
		loop_watch(p->all->loop, &l->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP) < 0)
		goto fail;
	COUNT(upstream_connections, 1);
	return l;
fail:
	free(l);
	if (fd >= 0)
		close(fd);
	return NULL;
}

int link_error(const struct link *l)
{
	int error = 0;
	socklen_t n = sizeof(error);

	return getsockopt(l->watch.fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 ? errno : error;
}

static void peer_counts(struct upstream_peer *p, const struct err *err)
{
	p->all->host->counted(p->all->host, (unsigned)(p - p->all->peers), err);
}

void link_counts(struct link *l, const struct err *err)
{
	if (err == NULL) {
		l->peer->failures = 0;
		l->peer->rests_ms = 0;
	}
	peer_counts(l->peer, err);
}

static void peer_fails(struct upstream_peer *p)
{
	uint64_t rest = (uint64_t)REST_MS << (p->failures < 5 ? p->failures : 5);

	p->failures++;
	p->next++;
	p->rests_ms = clock_ms() + (rest < REST_MAX_MS ? rest : REST_MAX_MS);
}

/* By errno, which it leaves as it is. others: the request may go to one of them, and say nothing.
 */
static void peer_refuses(struct upstream_peer *p, bool others)
{
	int error = errno;

	peer_fails(p);
	peer_counts(p, ERR_UPSTREAM_CONNECT);
	if (others)
		log_peer(LEVEL_WARN, "upstream %.*s: cannot connect: %s", SLICE_ARG(p->site->name),
			strerror(error));
	errno = error;
}

void link_fails(struct link *l)
{
	peer_fails(l->peer);
}

/* --- requests --------------------------------------------------------------------------------- */

/* The number of the peer to ask: one that does not rest, with the fewest requests. -1: all were
 * tried. */
static int peer_choose(struct upstream *u, uint32_t tried)
{
	uint64_t now = clock_ms(), least_rest = 0;
	int best = -1;

	u->first++;
	for (unsigned i = 0; i < u->site->npeers; i++) {
		unsigned at = (u->first + i) % u->site->npeers;
		const struct upstream_peer *p = &u->all->peers[u->site->peers[at]];
		uint64_t rest = p->rests_ms > now ? p->rests_ms : 0;

		if (tried >> at & 1)
			continue;
		if (best < 0 || rest < least_rest ||
			(rest == least_rest &&
				p->busy < u->all->peers[u->site->peers[best]].busy)) {
			best = (int)at;
			least_rest = rest;
		}
	}
	return best;
}

/* No end has come, of which the event is still to be read. */
static bool link_is_quiet(const struct link *l)
{
	char byte;

	return recv(l->watch.fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

/* t's own link, of any peer that it has not tried. */
static struct link *link_get(struct link_turn *t)
{
	struct upstream *u = t->of;
	struct link *l = NULL;
	int at;

	while (l == NULL && (at = peer_choose(u, t->tried)) >= 0) {
		struct upstream_peer *p = &u->all->peers[u->site->peers[at]];
		struct list *node = t->fresh ? NULL : list_pop(&p->idle);

		if (node != NULL) {
			l = LIST_ENTRY(node, struct link, node);
			timer_disarm(&u->all->loop->wheel, &l->idle);
			if (!t->careful || link_is_quiet(l))
				break;
			link_close(l);
			l = NULL;
			continue;
		}
		t->tried |= 1u << at;
		l = link_open(p);
		if (l == NULL)
			peer_refuses(p, u->site->npeers > 1);
	}
	return l;
}

static void link_unwait(struct link_turn *t)
{
	if (list_linked(&t->node))
		t->of->nwaiting--;
	list_remove(&t->node);
}

static void link_give(struct link_turn *t)
{
	errno = 0;
	link_unwait(t);
	t->link = link_get(t);
	if (t->link != NULL) {
		t->link->turn = t;
		t->link->peer->busy++;
		t->of->busy++;
		budget_take(&t->of->all->budget, t->account, 1);
	}
	t->linked(t);
}

/* True if no peer has an address yet, because the first look-up of a name is under way. */
static bool names_are_due(const struct upstream *u)
{
	bool due = false;

	for (unsigned i = 0; i < u->site->npeers; i++) {
		const struct upstream_peer *p = &u->all->peers[u->site->peers[i]];

		if (p->name.n > 0)
			return false;
		due |= p->name.again_ms == UINT64_MAX && !p->name.failed;
	}
	return due;
}

static void upstream_turn(struct task *task)
{
	struct upstream *u = LIST_ENTRY(task, struct upstream, turn);
	struct list asked;

	/* Calls may end other requests, and add some. */
	list_init(&asked);
	list_splice(&asked, &u->waiting);
	LIST_TAKE(struct link_turn, t, node, &asked) {
		list_append(&u->waiting, &t->node);
		if (u->busy < u->limit && !names_are_due(u) &&
			budget_room(&u->all->budget, t->account) > 0)
			link_give(t);
	}
}

void link_turn_init(struct link_turn *t, struct upstreams *all, const struct site_proxy *proxy,
	struct account *account)
{
	list_init(&t->node);
	t->account = account;
	t->of = &all->v[proxy->number];
}

bool link_ask(struct link_turn *t)
{
	struct upstream *u = t->of;

	if (u->nwaiting >= u->site->queue + (u->limit - u->busy))
		return false;
	list_append(&u->waiting, &t->node);
	u->nwaiting++;
	loop_at_turn_end(u->all->loop, &u->turn);
	return true;
}

void link_leave(struct link_turn *t, bool good)
{
	struct upstreams *all = t->of->all;
	struct link *l = t->link;

	link_unwait(t);
	if (l == NULL)
		return;
	t->link = NULL;
	budget_give(&all->budget, t->account, 1);
	t->of->busy--;
	l->peer->busy--;
	l->turn = NULL;
	l->used = true;
	if (good && !all->draining) {
		list_prepend(&l->peer->idle, &l->node);
		timer_arm(&all->loop->wheel, &l->idle, clock_ms() + IDLE_MS);
	} else {
		link_close(l);
	}
	/* The client's share may have kept its requests to others waiting. */
	for (unsigned i = 0; i < all->n; i++)
		if (all->v[i].nwaiting > 0)
			loop_at_turn_end(all->loop, &all->v[i].turn);
}

/* --- all of a worker -------------------------------------------------------------------------- */

/* Requests that wait may have another address now, or none to wait for. */
static void name_changed(struct name *name)
{
	struct upstream_peer *p = LIST_ENTRY(name, struct upstream_peer, name);

	if (!name->failed)
		p->rests_ms = 0;
	for (unsigned i = 0; i < p->all->n; i++)
		loop_at_turn_end(p->all->loop, &p->all->v[i].turn);
}

static void peer_init(struct upstream_peer *p, struct upstreams *all, struct offload *offload,
	const struct site_peer *site)
{
	*p = (struct upstream_peer){ .all = all, .site = site };
	list_init(&p->idle);
	name_init(&p->name, offload, site, name_changed);
	name_want(&p->name);
}

static void upstream_init(struct upstream *u, struct upstreams *all, const struct site_proxy *site)
{
	*u = (struct upstream){ .all = all, .site = site };
	list_init(&u->waiting);
	u->limit = site->connections * site->npeers;
	all->budget.max += u->limit;
	task_init(&u->turn, upstream_turn);
}

struct upstreams *upstreams_new(struct loop *loop, struct offload *offload,
	const struct sites *sites, struct upstreams_host *host)
{
	struct upstreams *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->loop = loop;
	all->host = host;
	budget_init(&all->budget, ACCOUNT_LINKS, 0, 1, 1);
	all->peers = calloc(sites->npeers + 1, sizeof(*all->peers));
	all->v = calloc(sites->nupstreams + 1, sizeof(*all->v));
	if (all->peers == NULL || all->v == NULL) {
		upstreams_free(&all);
		return NULL;
	}
	for (; all->npeers < sites->npeers; all->npeers++)
		peer_init(&all->peers[all->npeers], all, offload, &sites->peers[all->npeers]);
	for (; all->n < sites->nupstreams; all->n++)
		upstream_init(&all->v[all->n], all, sites->upstreams[all->n]);
	return all;
}

void upstreams_drain(struct upstreams *all)
{
	if (all == NULL)
		return;
	all->draining = true;
	for (unsigned i = 0; i < all->npeers; i++)
		LIST_EACH(struct link, l, node, &all->peers[i].idle)
			link_close(l);
}

void upstreams_free(struct upstreams **all)
{
	struct upstreams *u = *all;

	*all = NULL;
	if (u == NULL)
		return;
	u->leaving = true;
	upstreams_drain(u);
	for (unsigned i = 0; i < u->n; i++)
		loop_cancel(&u->v[i].turn);
	free(u->peers);
	free(u->v);
	free(u);
}
