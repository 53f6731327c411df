/*
 * loan: one for each empty place whose sockets a neighbour has, in the list of the neighbour's
 * generation; of an acceptor, one for each worker. The neighbour gets a message for each socket,
 * and another at the end: they are counted, so that a full queue delays one and loses none.
 */
#include "master/loan.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "master/master_state.h"

struct loan {
	struct list node;
	const struct child *from; /* NULL: its generation has ended */
	struct child *to;
	struct worker_listener *sockets; /* from's, without those that other places have, too */
	unsigned n;
	unsigned told; /* number of them that to has */
	bool ending;   /* from is served again */
	int inbox;     /* of a draining generation, until to was told; -1: none */
};

/* The loan of from's sockets to a neighbour in generation g (to; NULL: any); NULL: none. */
static struct loan *loan_find(const struct gen *g, const struct child *from, const struct child *to)
{
	LIST_EACH(struct loan, l, node, &g->loans)
		if (l->from == from && (to == NULL || l->to == to))
			return l;
	return NULL;
}

/* A loan that `to` must be told of. */
static struct loan *find_due(const struct child *to)
{
	LIST_EACH(struct loan, l, node, &to->gen->loans)
		if (l->to == to && (l->ending ? l->told > 0 : l->told < l->n))
			return l;
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

/* --- the neighbour ---------------------------------------------------------------------------- */

static bool is_away(const struct child *c)
{
	return c->state != CHILD_START && c->state != CHILD_UP;
}

static unsigned count_borrowed(const struct child *to)
{
	unsigned n = 0;

	LIST_EACH(struct loan, l, node, &to->gen->loans)
		n += l->to == to;
	return n;
}

/* The next child in g after from that is up, among those that have borrowed least. NULL: none. */
static struct child *find_neighbour(const struct gen *g, const struct child *from)
{
	unsigned at = (unsigned)(from - from->gen->children);
	struct child *best = NULL;

	for (unsigned i = 1; i <= g->nchildren; i++) {
		struct child *c = &g->children[(at + i) % g->nchildren];

		if (c == from || c->kind != from->kind || c->state != CHILD_UP)
			continue;
		if (best == NULL || count_borrowed(c) < count_borrowed(best))
			best = c;
	}
	return best;
}

/* --- lending ---------------------------------------------------------------------------------- */

static bool accepts_for_all(const struct child *c)
{
	return c->kind->gets & CHILD_INBOXES;
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

/* Lends the place's own sockets, and its inbox: the acceptor's listeners, without descriptors here,
 * leave room for that. False: memory is out. */
static bool lend(const struct child *from, struct child *to)
{
	struct loan *l = loan_new(from, to);
	unsigned n;

	if (l == NULL)
		return false;
	l->sockets = gen_listeners(from, &n);
	/* Without a worker's shared sockets, which its neighbours have anyway. */
	for (unsigned i = 0; i < n; i++)
		if ((accepts_for_all(from) || !l->sockets[i].shared) && l->sockets[i].fd >= 0)
			l->sockets[l->n++] = l->sockets[i];
	if (l->sockets != NULL && has_inbox(from))
		add_inbox(l, from->gen->inboxes.ends[from->slot][0]);
	child_send(to, DUE_LOANS);
	return true;
}

static void loan_say(const struct child *from, const char *whom)
{
	if (from->state == CHILD_FULL)
		log_peer(LEVEL_INFO, "%s is full; %s from its sockets", CHILD_NAME(from), whom);
	else
		log_notice("%s %s; %s from its sockets", CHILD_NAME(from),
			from->state == CHILD_EMPTY ? "has no process" : "hangs", whom);
}

static void loan_end(struct loan *l)
{
	l->ending = true;
	if (l->told == 0)
		loan_free(l);
	else
		child_send(l->to, DUE_LOANS);
}

static void go_on(struct loan *l)
{
	if (!l->ending)
		return;
	l->ending = false;
	child_send(l->to, DUE_LOANS);
}

static void offer_to_neighbour(const struct child *from)
{
	struct child *to = find_neighbour(from->gen, from);
	char text[64];

	if (to == NULL || !lend(from, to))
		return;
	snprintf(text, sizeof(text), "%s accepts", CHILD_NAME(to));
	loan_say(from, text);
}

/* Offers an acceptor's sockets to all workers: a single one would get all clients until the
 * acceptor turns again. */
static void offer_to_all(const struct child *from)
{
	bool first = loan_find(from->gen, from, NULL) == NULL, lent = false;

	GEN_FOREACH(c, from->gen) {
		struct loan *l = loan_find(from->gen, from, c);

		if (!(c->kind->gets & CHILD_LISTENERS) || c->state != CHILD_UP)
			continue;
		if (l != NULL)
			go_on(l);
		else
			lent |= lend(from, c);
	}
	if (first && lent)
		loan_say(from, "the workers accept");
}

/* Tells the neighbours only then: a message that is sent may free other loans. */
static void take_back(struct gen *g)
{
	bool any = false;

	LIST_EACH(struct loan, l, node, &g->loans) {
		if (l->from == NULL || l->from->gen != g || l->from->state != CHILD_UP || l->ending)
			continue;
		l->ending = any = true;
		if (l->told == 0)
			loan_free(l);
	}
	if (any)
		gen_send(g, CHILD_LISTENERS, DUE_LOANS);
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
		log_error("inbox: out of memory or descriptors; not handing over connections");
		loan_free(l);
		return;
	}
	add_inbox(l, l->inbox);
	child_send(to, DUE_LOANS);
}

/* True if g has every listener of the draining old: else connections would not find theirs. */
static bool takes_over(const struct gen *g, const struct gen *old)
{
	return g->conf->dispatch == DISPATCH_ACCEPTOR && old->state == GEN_DRAIN &&
	       gen_closing(old, &g->master->sockets) == 0;
}

/* Offers it in g: its sockets, or of another generation only its inbox. */
static void offer(const struct gen *g, const struct child *from)
{
	struct loan *l = loan_find(g, from, NULL);

	if (l == NULL && from->gen == g)
		offer_to_neighbour(from);
	else if (l == NULL)
		lend_inbox(g, from);
	else if (l->to->state == CHILD_UP)
		go_on(l);
	/* The borrower in g cannot continue: another gets it as soon as that was told. */
	else if (!l->ending && find_neighbour(g, l->from) != NULL)
		loan_end(l);
}

static void offer_inboxes(const struct gen *g)
{
	LIST_EACH(const struct gen, old, node, &g->master->gens.all) {
		if (old->inboxes.n == 0 || !takes_over(g, old))
			continue;
		GEN_FOREACH(c, old)
			if (has_inbox(c))
				offer(g, c);
	}
}

void loan_gone(const struct gen *g)
{
	LIST_EACH(struct gen, other, node, &g->master->gens.all)
		LIST_EACH(struct loan, l, node, &other->loans) {
			if (l->from == NULL || l->from->gen != g || other == g)
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
	take_back(g);
	GEN_FOREACH(c, g) {
		if (is_away(c) && accepts_for_all(c))
			offer_to_all(c);
		else if (is_away(c) && c->kind->gets & CHILD_LISTENERS)
			offer(g, c);
	}
	offer_inboxes(g);
}

void loan_lost(const struct child *to)
{
	LIST_EACH(struct loan, l, node, &to->gen->loans)
		if (l->to == to)
			loan_free(l);
}

void loan_again(struct child *to)
{
	LIST_EACH(struct loan, l, node, &to->gen->loans)
		if (l->to == to && !l->ending)
			l->told = 0;
	child_send(to, DUE_LOANS);
}

void loan_forget(struct gen *g)
{
	LIST_EACH(struct loan, l, node, &g->loans)
		loan_free(l);
}

/* --- messages --------------------------------------------------------------------------------- */

bool loan_fill(const struct child *to, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct loan *l = find_due(to);
	const struct worker_listener *s;

	(void)n;
	if (l == NULL)
		return false;
	s = &l->sockets[l->ending ? l->told - 1 : l->told];
	*msg = (struct ctl_msg){
		.type = l->ending ? CTL_UNLISTEN : CTL_LISTEN,
		.listener = s->id,
		.slot = s->slot,
	};
	*nfds = l->ending ? 0 : 1;
	fds[0] = s->fd;
	return true;
}

void loan_sent(const struct child *to)
{
	struct loan *l = find_due(to);

	H2D_ASSERT(l != NULL);
	if (l->ending)
		l->told--;
	else
		l->told++;
	if (l->ending ? l->told == 0 : l->from == NULL && l->told == l->n)
		loan_free(l);
}
