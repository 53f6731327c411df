/*
 * loan: one for each empty place whose sockets a neighbour has, in the list of the neighbour's
 * generation. The neighbour is told of each socket by a message, and by another at the end.
 * Supervise and drain say when; what was told is counted, so that a full queue delays a message and
 * loses none.
 */
#include "master/loan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "master/master_state.h"
#include "server/dispatch.h"

struct loan {
	struct list node;
	const struct child *from; /* NULL: its generation is gone */
	struct child *to;
	struct worker_listener *sockets; /* those of from that no other place has */
	unsigned n;
	unsigned told; /* to has the first so many of them */
	bool ending;   /* from is served again */
	int inbox;     /* of a generation that leaves, until to was told; -1: none */
};

#define LOAN(n) LIST_ENTRY(n, struct loan, node)
#define GEN(n)  LIST_ENTRY(n, struct gen, node)

static bool is_due(const struct loan *l)
{
	return l->ending ? l->told > 0 : l->told < l->n;
}

/* What a neighbour of generation g has of it. */
static struct loan *find_from(const struct gen *g, const struct child *from)
{
	LIST_FOREACH(node, &g->loans)
		if (LOAN(node)->from == from)
			return LOAN(node);
	return NULL;
}

/* One that `to` has yet to be told of. */
static struct loan *find_due(const struct child *to)
{
	LIST_FOREACH(node, &to->gen->loans)
		if (LOAN(node)->to == to && is_due(LOAN(node)))
			return LOAN(node);
	return NULL;
}

static void loan_free(struct loan *l)
{
	list_remove(&l->node);
	if (l->inbox >= 0)
		close(l->inbox);
	free(l->sockets);
	free(l);
}

/* --- whom to ---------------------------------------------------------------------------------- */

/* Whether connections would wait for c. */
static bool is_away(const struct child *c)
{
	return c->pid == 0 || c->still || c->stuck || c->full;
}

static bool may_borrow(const struct child *c)
{
	return c->up && !is_away(c);
}

static unsigned count_borrowed(const struct child *to)
{
	unsigned n = 0;

	LIST_FOREACH(node, &to->gen->loans)
		n += LOAN(node)->to == to;
	return n;
}

/* The next one in g after from that is up, among those that have borrowed least. NULL: nobody is.
 */
static struct child *find_neighbour(const struct gen *g, const struct child *from)
{
	unsigned at = (unsigned)(from - from->gen->children);
	struct child *best = NULL;

	for (unsigned i = 1; i <= g->nchildren; i++) {
		struct child *c = &g->children[(at + i) % g->nchildren];

		if (c == from || c->kind != from->kind || !may_borrow(c))
			continue;
		if (best == NULL || count_borrowed(c) < count_borrowed(best))
			best = c;
	}
	return best;
}

/* --- lending ---------------------------------------------------------------------------------- */

static void keep_own(struct loan *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		if (!l->sockets[i].shared && l->sockets[i].fd >= 0)
			l->sockets[n++] = l->sockets[i];
	l->n = n;
}

static void add_inbox(struct loan *l, int fd)
{
	l->sockets[l->n++] = (struct worker_listener){
		.fd = fd,
		.id = CTL_INBOX,
		.slot = l->from->gen->inboxes.first + l->from->slot,
	};
}

static bool has_inbox(const struct child *c)
{
	return c->kind->gets & CHILD_INBOX && c->slot < c->gen->inboxes.n;
}

static struct loan *loan_new(const struct child *from, struct child *to)
{
	struct loan *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->from = from;
	l->to = to;
	l->inbox = -1;
	list_append(&to->gen->loans, &l->node);
	return l;
}

/* What is the place's own, and what waits in its inbox: listeners that the acceptor has leave room
 * for that. */
static void lend(const struct child *from)
{
	struct child *to = find_neighbour(from->gen, from);
	struct loan *l = to != NULL ? loan_new(from, to) : NULL;
	char who[32], whom[32];

	if (l == NULL)
		return;
	l->sockets = gen_worker_listeners(from->gen, from->slot, &l->n);
	keep_own(l);
	if (l->sockets != NULL && has_inbox(from))
		add_inbox(l, from->gen->inboxes.ends[from->slot][0]);
	child_name(from, who, sizeof(who));
	child_name(to, whom, sizeof(whom));
	log_at(from->full ? LEVEL_INFO : LEVEL_NOTICE, "%s %s: %s accepts from its sockets", who,
		from->pid == 0 ? "has no process"
		: from->full   ? "is full"
			       : "stands still",
		whom);
	child_send(to, DUE_LOANS);
}

static void end(struct loan *l)
{
	l->ending = true;
	if (l->told == 0)
		loan_free(l);
	else
		child_send(l->to, DUE_LOANS);
}

/* From one that cannot go on to another, as soon as it was told. */
static void offer(const struct child *from)
{
	struct loan *l = find_from(from->gen, from);

	if (l == NULL) {
		lend(from);
	} else if (!may_borrow(l->to)) {
		if (!l->ending && find_neighbour(from->gen, from) != NULL)
			end(l);
	} else if (l->ending) {
		l->ending = false;
		child_send(l->to, DUE_LOANS);
	}
}

static void take_back(const struct child *from)
{
	struct loan *l = find_from(from->gen, from);

	if (l != NULL && !l->ending)
		end(l);
}

/* --- inboxes of generations that leave -------------------------------------------------------- */

/* The inbox may be closed with its generation before the neighbour was told. */
static void lend_inbox(const struct gen *g, const struct child *from)
{
	struct child *to = find_neighbour(g, from);
	struct loan *l = to != NULL ? loan_new(from, to) : NULL;

	if (l == NULL)
		return;
	l->inbox = fcntl(from->gen->inboxes.ends[from->slot][0], F_DUPFD_CLOEXEC, 0);
	l->sockets = calloc(1, sizeof(*l->sockets));
	if (l->inbox < 0 || l->sockets == NULL) {
		log_error("what waits in an inbox cannot be handed on: no memory or descriptors");
		loan_free(l);
		return;
	}
	add_inbox(l, l->inbox);
	child_send(to, DUE_LOANS);
}

/* Whether g has each listener of one that leaves: none of its connections would find its own. */
static bool takes_over(const struct gen *g, const struct gen *old)
{
	return g->conf->dispatch == DISPATCH_ACCEPTOR && old->state == GEN_DRAIN &&
	       gen_closing(old, &g->master->sockets) == 0;
}

static void offer_inboxes(const struct gen *g)
{
	LIST_FOREACH(node, &g->master->gens) {
		const struct gen *old = GEN(node);

		if (old->inboxes.n == 0 || !takes_over(g, old))
			continue;
		GEN_FOREACH(c, old)
			if (has_inbox(c) && find_from(g, c) == NULL)
				lend_inbox(g, c);
	}
}

void loan_gone(const struct gen *g)
{
	LIST_FOREACH(other, &g->master->gens)
		LIST_FOREACH(node, &GEN(other)->loans) {
			struct loan *l = LOAN(node);

			if (l->from == NULL || l->from->gen != g || GEN(other) == g)
				continue;
			l->from = NULL;
			if (l->told == l->n)
				loan_free(l);
		}
}

/* --- when ------------------------------------------------------------------------------------- */

void loan_offer(struct gen *g)
{
	if (g->state != GEN_SERVE)
		return;
	GEN_FOREACH(c, g) {
		if (!(c->kind->gets & CHILD_LISTENERS))
			continue;
		if (is_away(c))
			offer(c);
		else if (c->up)
			take_back(c);
	}
	offer_inboxes(g);
}

void loan_lost(const struct child *to)
{
	LIST_FOREACH(node, &to->gen->loans)
		if (LOAN(node)->to == to)
			loan_free(LOAN(node));
}

void loan_again(struct child *to)
{
	LIST_FOREACH(node, &to->gen->loans)
		if (LOAN(node)->to == to && !LOAN(node)->ending)
			LOAN(node)->told = 0;
	child_send(to, DUE_LOANS);
}

void loan_forget(struct gen *g)
{
	LIST_FOREACH(node, &g->loans)
		loan_free(LOAN(node));
}

/* --- messages --------------------------------------------------------------------------------- */

bool loan_fill(const struct child *to, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct loan *l = find_due(to);
	const struct worker_listener *s;

	if (l == NULL)
		return false;
	s = &l->sockets[l->ending ? l->told - 1 : l->told];
	*msg = (struct ctl_msg){
		.type = l->ending ? CTL_UNLISTEN : CTL_LISTEN,
		.generation = to->gen->number,
		.listener = s->id,
		.slot = s->slot,
	};
	*nfds = l->ending ? 0 : 1;
	fds[0] = s->fd;
	return true;
}

bool loan_sent(const struct child *to)
{
	struct loan *l = find_due(to);

	if (l->ending)
		l->told--;
	else
		l->told++;
	if (l->ending ? l->told == 0 : l->from == NULL && l->told == l->n)
		loan_free(l);
	return find_due(to) != NULL;
}
