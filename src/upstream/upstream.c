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
	IDLE_MS = 30000,  /* an idle link is kept; most applications close earlier */
	REST_MS = 1000,   /* a peer is left alone after its first failure */
	REST_DOUBLES = 5, /* times with further ones */
};

struct upstream_peer {
	struct upstreams *all;
	struct name name;  /* its addresses are tried in turn */
	unsigned next;     /* address */
	unsigned busy;     /* links that requests have */
	unsigned waiting;  /* requests of the applications whose first peer it is */
	struct list idle;  /* links, the last used first */
	unsigned failures; /* since its last answer, at most REST_DOUBLES */
	uint64_t rests_ms; /* clock_ms() until which others are asked */
	unsigned failed;   /* the number of its last failure */
};

struct upstreams {
	struct http_env *env;
	bool draining;
	struct budget budget; /* links of requests: a client gets half of the free ones */
	struct list waiting;  /* struct link_turn, the first comes first */
	struct task turn;     /* gives links to these */
	unsigned first;       /* of an application's peers, next time */
	unsigned failures;    /* of all peers */
	struct upstream_peer peers[];
};

static struct upstream_peer *peer_at(const struct link_turn *t, unsigned i)
{
	return &t->all->peers[t->proxy->peers[i % t->proxy->npeers]];
}

struct slice link_name(const struct link_turn *t)
{
	return t->peer->name.site->name;
}

/* --- links ------------------------------------------------------------------------------------ */

static void link_free(struct task *t)
{
	free(LIST_ENTRY(t, struct link, free));
}

static void link_close(struct link *l)
{
	struct loop *loop = l->peer->all->env->loop;

	timer_disarm(&loop->wheel, &l->idle);
	list_remove(&l->node);
	loop_unwatch(loop, &l->watch);
	close(l->watch.fd);
	COUNT(upstream_connections, -1);
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
	*l = (struct link){
		.watch = { .fn = link_event, .fd = fd }, .peer = p, .address = p->next
	};
	list_init(&l->node);
	timer_init(&l->idle, link_idles);
	task_init(&l->free, link_free);
	if (to->sa.sa_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	if ((connect(fd, &to->sa, to->len) < 0 && errno != EINPROGRESS) ||
		loop_watch(p->all->env->loop, &l->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP) < 0)
		goto fail;
	COUNT(upstream_connections, 1);
	return l;
fail:
	free(l);
	if (fd >= 0)
		close(fd);
	return NULL;
}

void link_counts(struct link_turn *t, const struct err *err, bool rests)
{
	struct upstream_peer *p = t->peer;

	if (err == NULL) {
		p->failures = 0;
		p->rests_ms = 0;
	} else if (rests) {
		p->rests_ms = clock_ms() + (REST_MS << p->failures);
		p->failures += p->failures < REST_DOUBLES;
		p->failed = ++t->all->failures;
		p->next += t->link == NULL || t->link->address == p->next;
	}
	t->all->env->peer_counts(t->all->env, (unsigned)(p - t->all->peers), err);
}

/* --- requests --------------------------------------------------------------------------------- */

/* True if it may have another link, and the first look-up of its name is over. */
static bool peer_is_free(const struct upstream_peer *p)
{
	return p->busy < p->name.site->connections &&
	       (p->name.n > 0 || p->name.failed || p->name.again_ms != UINT64_MAX);
}

/* The peer to ask: one that does not rest, with the fewest requests; if all rest, the one that
 * failed first. NULL: no such peer is free, and t waits. */
static struct upstream_peer *peer_choose(const struct link_turn *t)
{
	uint64_t now = clock_ms(), least = UINT64_MAX;
	struct upstream_peer *best = NULL;

	t->all->first++;
	for (unsigned i = 0; i < t->proxy->npeers; i++) {
		struct upstream_peer *p = peer_at(t, t->all->first + i);
		uint64_t rest = p->rests_ms > now ? p->failed : 0;
		uint64_t order = rest << 32 | (uint64_t)!peer_is_free(p) << 31 | p->busy;

		if (order < least) {
			least = order;
			best = p;
		}
	}
	return peer_is_free(best) ? best : NULL;
}

/* No end has come, of which the event is still to be read. */
static bool link_is_quiet(const struct link *l)
{
	char byte;

	return recv(l->watch.fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

/* The idle link of p that was used last, if t may have it, or a new one. NULL with errno. */
static struct link *link_get(struct link_turn *t, struct upstream_peer *p)
{
	struct list *node;

	while (!t->fresh && (node = list_pop(&p->idle)) != NULL) {
		struct link *l = LIST_ENTRY(node, struct link, node);

		timer_disarm(&p->all->env->loop->wheel, &l->idle);
		if (!t->careful || link_is_quiet(l))
			return l;
		link_close(l);
	}
	t->attempts++;
	return link_open(p);
}

static void link_unwait(struct link_turn *t)
{
	if (list_linked(&t->node))
		peer_at(t, 0)->waiting--;
	list_remove(&t->node);
}

static void link_give(struct link_turn *t, struct upstream_peer *p)
{
	link_unwait(t);
	t->peer = p;
	t->link = link_get(t, p);
	if (t->link != NULL) {
		t->link->turn = t;
		p->busy++;
		budget_take(&t->all->budget, t->account, 1);
	}
	t->linked(t);
}

static void upstreams_turn(struct task *task)
{
	struct upstreams *all = LIST_ENTRY(task, struct upstreams, turn);
	struct list asked;

	/* Calls may end other requests, and add some. */
	list_init(&asked);
	list_splice(&asked, &all->waiting);
	LIST_TAKE(struct link_turn, t, node, &asked) {
		bool may = budget_room(&all->budget, t->account) > 0;
		struct upstream_peer *p = may ? peer_choose(t) : NULL;

		list_append(&all->waiting, &t->node);
		if (p != NULL)
			link_give(t, p);
	}
}

bool link_may_ask(const struct link_turn *t)
{
	unsigned n = t->peer->name.n;

	return t->attempts < t->proxy->npeers + (n > 1 ? n - 1 : 0);
}

bool link_ask(struct link_turn *t)
{
	unsigned most = t->proxy->queue;

	for (unsigned i = 0; i < t->proxy->npeers; i++)
		most += peer_at(t, i)->name.site->connections - peer_at(t, i)->busy;
	if (peer_at(t, 0)->waiting >= most)
		return false;
	peer_at(t, 0)->waiting++;
	list_append(&t->all->waiting, &t->node);
	loop_at_turn_end(t->all->env->loop, &t->all->turn);
	return true;
}

void link_leave(struct link_turn *t, bool good)
{
	struct upstreams *all = t->all;
	struct link *l = t->link;

	link_unwait(t);
	if (l == NULL)
		return;
	t->link = NULL;
	budget_give(&all->budget, t->account, 1);
	l->peer->busy--;
	l->turn = NULL;
	l->used = true;
	if (good && !all->draining) {
		list_prepend(&l->peer->idle, &l->node);
		timer_arm(&all->env->loop->wheel, &l->idle, clock_ms() + IDLE_MS);
	} else {
		link_close(l);
	}
	loop_at_turn_end(all->env->loop, &all->turn);
}

/* --- all of a worker -------------------------------------------------------------------------- */

/* Requests that wait may have another address now, or none to wait for. */
static void name_changed(struct name *name)
{
	struct upstream_peer *p = LIST_ENTRY(name, struct upstream_peer, name);

	if (!name->failed)
		p->rests_ms = 0;
	loop_at_turn_end(p->all->env->loop, &p->all->turn);
}

struct upstreams *upstreams_new(struct http_env *env, struct offload *offload)
{
	const struct sites *sites = env->sites;
	struct upstreams *all = calloc(1, sizeof(*all) + sites->npeers * sizeof(all->peers[0]));

	if (all == NULL)
		return NULL;
	all->env = env;
	budget_init(&all->budget, ACCOUNT_LINKS, 0, 1, 1);
	list_init(&all->waiting);
	task_init(&all->turn, upstreams_turn);
	for (unsigned i = 0; i < sites->npeers; i++) {
		struct upstream_peer *p = &all->peers[i];

		p->all = all;
		all->budget.max += sites->peers[i].connections;
		list_init(&p->idle);
		name_init(&p->name, offload, &sites->peers[i], name_changed);
		name_want(&p->name);
	}
	return all;
}

void upstreams_drain(struct upstreams *all)
{
	if (all == NULL)
		return;
	all->draining = true;
	for (unsigned i = 0; i < all->env->sites->npeers; i++)
		LIST_EACH(struct link, l, node, &all->peers[i].idle)
			link_close(l);
}

void upstreams_free(struct upstreams **all)
{
	upstreams_drain(*all);
	if (*all != NULL)
		loop_cancel(&(*all)->turn);
	free(*all);
	*all = NULL;
}
