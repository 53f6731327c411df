/* line: see line.h. Moves turns and parts only; their owners give them meaning. */
#include "share/line.h"

#include "base/assert.h"
#include "base/clock.h"

static enum line_answer ask_room(struct line *l, struct line_turn *t)
{
	if (l->budget.held >= l->budget.max)
		return LINE_FULL;
	return budget_room(&l->budget, t->account) > 0 ? LINE_GO : LINE_WAIT;
}

void line_init(struct line *l, enum account_kind kind, uint64_t max, uint64_t least, unsigned part)
{
	*l = (struct line){ .ask = ask_room, .poor_in = kind };
	budget_init(&l->budget, kind, max, least, part);
	list_init(&l->poor);
	list_init(&l->others);
	list_init(&l->lent);
	account_part_init(&l->nobody);
}

void line_group_init(struct line_group *g)
{
	list_init(&g->waits);
	list_init(&g->node);
	g->up = NULL;
}

static struct account_part *part_of(struct line *l, struct account *a)
{
	return a != NULL ? &a->parts[l->budget.kind] : &l->nobody;
}

/* --- waiting ---------------------------------------------------------------------------------- */

bool line_is_free(struct line *l, struct account *account)
{
	return list_empty(&part_of(l, account)->group.waits) &&
	       budget_room(&l->budget, account) > 0;
}

static struct list *line_of(struct line *l, struct line_group *client)
{
	const struct account_part *part = LIST_ENTRY(client, struct account_part, group);

	if (part == &l->nobody)
		return &l->others;
	part += (int)l->poor_in - (int)l->budget.kind;
	return part->held == 0 ? &l->poor : &l->others;
}

/* Adds a client; where turns count, before those with a later one. */
static void client_enter(struct line *l, struct line_group *client)
{
	struct list *clients = line_of(l, client), *at = clients;

	while (l->by_turn && at->prev != clients &&
		LIST_ENTRY(at->prev, struct line_group, node)->turn > client->turn)
		at = at->prev;
	list_append(at, &client->node);
}

static void group_enter(struct line *l, struct line_group *g, struct list *node)
{
	bool first = list_empty(&g->waits);

	list_append(&g->waits, node);
	if (first && g->up != NULL)
		group_enter(l, g->up, &g->node);
	else if (first)
		client_enter(l, g);
}

static void group_leave(struct line_group *g, struct list *node)
{
	list_remove(node);
	if (!list_empty(&g->waits))
		return;
	if (g->up != NULL)
		group_leave(g->up, &g->node);
	else
		list_remove(&g->node);
}

void line_join(
	struct line *l, struct line_turn *t, struct account *account, struct line_group *connection)
{
	struct line_group *client = &part_of(l, account)->group;

	H2D_ASSERT(t->group == NULL && (connection != NULL) == l->of_connections);
	account_hold(account);
	t->account = account;
	t->group = connection != NULL ? connection : client;
	if (connection != NULL && list_empty(&connection->waits))
		connection->up = client;
	group_enter(l, t->group, &t->node);
	l->nwaiting++;
}

/* The caller keeps its account open. */
static void line_quit(struct line *l, struct line_turn *t)
{
	group_leave(t->group, &t->node);
	t->group = NULL;
	l->nwaiting--;
}

void line_leave(struct line *l, struct line_turn *t)
{
	struct account *account = t->account;

	if (t->group == NULL)
		return;
	line_quit(l, t);
	account_close(&account);
}

static struct line_turn *first_of(const struct line_group *g)
{
	return LIST_ENTRY(g->waits.next, struct line_turn, node);
}

/* Asks for the first turn of each group; groups asked now are the last ones next time. */
static struct line_turn *ask_groups(struct line *l, struct list *groups, bool of_groups)
{
	struct line_turn *found = NULL;
	struct list asked, *node;

	list_init(&asked);
	while (found == NULL && !l->full && (node = list_pop(groups)) != NULL) {
		struct line_group *g = LIST_ENTRY(node, struct line_group, node);

		list_append(&asked, node);
		if (of_groups) {
			found = ask_groups(l, &g->waits, false);
		} else {
			enum line_answer answer = l->ask(l, first_of(g));

			l->full = answer == LINE_FULL;
			found = answer == LINE_GO ? first_of(g) : NULL;
		}
	}
	list_splice(groups, &asked);
	return found;
}

struct line_turn *line_next(struct line *l)
{
	struct line_group *client;
	struct line_turn *t;

	l->full = false;
	t = ask_groups(l, &l->poor, l->of_connections);
	if (t == NULL)
		t = ask_groups(l, &l->others, l->of_connections);
	if (t == NULL)
		return NULL;
	line_quit(l, t);
	client = &part_of(l, t->account)->group;
	client->turn = ++l->turn;
	/* The next turn comes after those of the others. */
	if (list_linked(&client->node)) {
		list_remove(&client->node);
		list_append(&l->others, &client->node);
	}
	return t;
}

/* --- holding ---------------------------------------------------------------------------------- */

void line_took(struct line *l, struct line_turn *t, uint64_t n)
{
	budget_take(&l->budget, t->account, n);
	t->held += n;
}

void line_gave(struct line *l, struct line_turn *t, uint64_t n)
{
	H2D_ASSERT(n <= t->held);
	t->held -= n;
	if (t->held == 0)
		line_keep(t);
	budget_give(&l->budget, t->account, n);
}

void line_lend(struct line *l, struct line_turn *t)
{
	H2D_ASSERT(t->group == NULL);
	t->used_ms = clock_ms();
	list_remove(&t->node);
	list_append(l->by_client ? &part_of(l, t->account)->lent : &l->lent, &t->node);
}

void line_keep(struct line_turn *t)
{
	H2D_ASSERT(t->group == NULL);
	list_remove(&t->node);
}

const struct list *line_lent(struct line *l, struct account *account)
{
	return &part_of(l, account)->lent;
}

/* --- the one that pays ------------------------------------------------------------------------ */

struct line_turn *line_unused(const struct line *l, uint64_t ms)
{
	struct line_turn *first = LIST_ENTRY(l->lent.next, struct line_turn, node);

	return !list_empty(&l->lent) && clock_ms() - first->used_ms >= ms ? first : NULL;
}

static unsigned length_of(const struct line_group *g)
{
	unsigned n = 0;

	for (const struct list *at = g->waits.next; at != &g->waits; at = at->next)
		n++;
	return n;
}

unsigned line_waiting(struct line *l, struct account *account)
{
	return length_of(&part_of(l, account)->group);
}

static struct line_group *longest_of(const struct list *clients, unsigned *n)
{
	struct line_group *found = NULL;

	LIST_EACH(struct line_group, g, node, clients) {
		unsigned length = length_of(g);

		if (length <= *n)
			continue;
		*n = length;
		found = g;
	}
	return found;
}

struct line_turn *line_longest(struct line *l, struct account *account)
{
	unsigned n = line_waiting(l, account) + 1;
	struct line_group *poor = longest_of(&l->poor, &n), *g = longest_of(&l->others, &n);

	if (g == NULL)
		g = poor;
	return g != NULL ? LIST_ENTRY(g->waits.prev, struct line_turn, node) : NULL;
}

static unsigned count_first(
	const struct list *clients, bool (*is)(struct line_turn *first), unsigned max)
{
	unsigned n = 0;

	LIST_EACH(struct line_group, client, node, clients)
		LIST_EACH(struct line_group, group, node, &client->waits) {
			if (n == max)
				return n;
			n += is(first_of(group));
		}
	return n;
}

unsigned line_count(const struct line *l, bool (*is)(struct line_turn *first), unsigned max)
{
	unsigned n = count_first(&l->poor, is, max);

	return n + count_first(&l->others, is, max - n);
}
