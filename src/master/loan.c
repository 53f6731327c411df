/*
 * loan: one for each empty place whose sockets a neighbour has, in the generation's list. The
 * neighbour is told of each socket by a message, and by another at the end. Supervise and drain say
 * when; what was told is counted, so that a full queue delays a message and loses none.
 */
#include "master/loan.h"

#include <stdlib.h>

#include "base/log.h"

struct loan {
	struct list node;
	const struct child *from;
	struct child *to;
	struct worker_listener *sockets; /* those of from that no other place has */
	unsigned n;
	unsigned told; /* to has the first so many of them */
	bool ending;   /* from is served again */
};

#define LOAN(n) LIST_ENTRY(n, struct loan, node)

static bool is_due(const struct loan *l)
{
	return l->ending ? l->told > 0 : l->told < l->n;
}

static struct loan *find_from(const struct child *from)
{
	LIST_FOREACH(node, &from->gen->loans)
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
	free(l->sockets);
	free(l);
}

/* --- whom to ---------------------------------------------------------------------------------- */

static unsigned count_borrowed(const struct child *to)
{
	unsigned n = 0;

	LIST_FOREACH(node, &to->gen->loans)
		n += LOAN(node)->to == to;
	return n;
}

/* The next one after from that is up, among those that have borrowed least. NULL: nobody is. */
static struct child *find_neighbour(const struct child *from)
{
	struct gen *g = from->gen;
	unsigned at = (unsigned)(from - g->children);
	struct child *best = NULL;

	for (unsigned i = 1; i < g->nchildren; i++) {
		struct child *c = &g->children[(at + i) % g->nchildren];

		if (c->kind != from->kind || c->pid == 0 || !c->up || c->stuck)
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

/* What waits in the inbox of the place. Listeners that the acceptor has left room for it. */
static void add_inbox(struct loan *l)
{
	const struct inboxes *in = &l->from->gen->inboxes;

	if (l->from->slot < in->n && l->sockets != NULL)
		l->sockets[l->n++] = (struct worker_listener){
			.fd = in->ends[l->from->slot][0],
			.id = CTL_INBOX,
			.slot = l->from->slot,
		};
}

static struct loan *loan_new(const struct child *from, struct child *to)
{
	struct loan *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->from = from;
	l->to = to;
	list_append(&from->gen->loans, &l->node);
	l->sockets = gen_worker_listeners(from->gen, from->slot, &l->n);
	keep_own(l);
	add_inbox(l);
	return l;
}

static void lend(const struct child *from)
{
	struct child *to = find_neighbour(from);
	struct loan *l = to != NULL ? loan_new(from, to) : NULL;
	char who[32], whom[32];

	if (l == NULL)
		return;
	child_name(from, who, sizeof(who));
	child_name(to, whom, sizeof(whom));
	log_notice("%s %s: %s accepts from its sockets", who,
		from->pid == 0 ? "has no process" : "stands still", whom);
	child_send(to, DUE_LOANS);
}

static void offer(const struct child *from)
{
	struct loan *l = find_from(from);

	if (l == NULL) {
		lend(from);
	} else if (l->ending) {
		l->ending = false;
		child_send(l->to, DUE_LOANS);
	}
}

void loan_offer(struct gen *g)
{
	if (g->state != GEN_SERVE)
		return;
	GEN_FOREACH(c, g)
		if ((c->pid == 0 || c->stuck) && c->kind->gets & CHILD_LISTENERS)
			offer(c);
}

void loan_end(const struct child *from)
{
	struct loan *l = find_from(from);

	if (l == NULL)
		return;
	l->ending = true;
	if (l->told == 0)
		loan_free(l);
	else
		child_send(l->to, DUE_LOANS);
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

	if (!l->ending)
		l->told++;
	else if (--l->told == 0)
		loan_free(l);
	return find_due(to) != NULL;
}
