/* holding: keeps this worker's numbers, and reports them to the others. */
#include "share/holding.h"

#include "base/clock.h"

void holding_init(struct holding *h, enum account_kind kind, struct tally *tally, const char *key,
	uint64_t max)
{
	*h = (struct holding){ .tally = tally, .rule = rate_rule("", key), .max = max };
	budget_init(&h->budget, kind, UINT64_MAX, 0, 1);
}

static void holding_tell(const struct holding *h, const struct account *a)
{
	tally_tell(h->tally, a->mark, h->rule, a->parts[h->budget.kind].held, clock_us());
}

bool holding_take(struct holding *h, struct account *a, bool *counted)
{
	*counted =
		h->tally != NULL && h->max > 0 && a != NULL && !a->exempt && !account_is_crowd(a);
	if (!*counted)
		return true;
	/* Counted before the others are read: of two at once neither is missed. */
	budget_take(&h->budget, a, 1);
	holding_tell(h, a);
	return a->parts[h->budget.kind].held +
		       tally_others(h->tally, a->mark, h->rule, clock_us()) <=
	       h->max;
}

void holding_give(struct holding *h, struct account *a)
{
	account_hold(a);
	budget_give(&h->budget, a, 1);
	holding_tell(h, a);
	account_close(&a);
}
