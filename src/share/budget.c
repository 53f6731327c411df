/* budget: see budget.h. The one writer of accounts' parts. */
#include "share/budget.h"

#include "base/assert.h"

void budget_init(
	struct budget *b, enum account_kind kind, uint64_t max, uint64_t least, unsigned part)
{
	*b = (struct budget){ .kind = kind, .max = max, .least = least, .part = part };
	list_init(&b->holders);
}

uint64_t budget_room(const struct budget *b, const struct account *a)
{
	uint64_t left = b->max > b->held ? b->max - b->held : 0;
	uint64_t mine, bound;

	if (a == NULL)
		return left;
	mine = a->parts[b->kind].held;
	/* The bound is the sum of mine and left, divided, which does not change by taking. */
	bound = (mine + left) / (b->part + 1);
	if (bound < b->least)
		bound = b->least;
	if (bound <= mine)
		return 0;
	return bound - mine < left ? bound - mine : left;
}

void budget_take(struct budget *b, struct account *a, uint64_t n)
{
	struct account_part *part;

	b->held += n;
	if (a == NULL || n == 0)
		return;
	part = &a->parts[b->kind];
	if (part->held == 0) {
		account_hold(a);
		list_append(&b->holders, &part->node);
	}
	part->held += n;
}

void budget_give(struct budget *b, struct account *a, uint64_t n)
{
	struct account_part *part;

	H2D_ASSERT(n <= b->held);
	b->held -= n;
	if (a == NULL || n == 0)
		return;
	part = &a->parts[b->kind];
	H2D_ASSERT(n <= part->held);
	part->held -= n;
	if (part->held > 0)
		return;
	list_remove(&part->node);
	account_close(&a);
}

struct account *budget_most(const struct budget *b)
{
	struct account_part *most = NULL;

	LIST_FOREACH(node, &b->holders) {
		struct account_part *part = LIST_ENTRY(node, struct account_part, node);

		if (most == NULL || part->held > most->held)
			most = part;
	}
	return most != NULL ? LIST_ENTRY(most - b->kind, struct account, parts[0]) : NULL;
}

struct account *budget_greediest(const struct budget *b)
{
	struct account *most = budget_most(b);

	return most != NULL && most->parts[b->kind].held > b->least ? most : NULL;
}
