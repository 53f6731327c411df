/*
 * ahead: see ahead.h. Credit given to a client cannot be taken back over HTTP/2, so withdrawing a
 * part breaks no promise: a client that keeps sending without one is read once there is room again,
 * and the sum does not count bytes that may never come.
 */
#include "proto/ahead.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/err.h"

enum {
	SUM_MIN = 128 << 20,
	SUM_WINDOWS = 8, /* so many times receive-window, if that is more */
	USED_PART = 8,   /* of a part: a client that sends as much within UNUSED_MS uses it */
	UNUSED_MS = 1000,
};

void ahead_init(struct ahead *a, uint32_t receive_window)
{
	uint64_t sum = (uint64_t)SUM_WINDOWS * receive_window;

	line_init(&a->line, ACCOUNT_AHEAD, sum > SUM_MIN ? sum : SUM_MIN, AHEAD_FIRST, 1);
	a->charged_ms = 0;
}

void ahead_part_init(
	struct ahead_part *part, struct account *account, void (*withdraw)(struct ahead_part *part))
{
	*part = (struct ahead_part){ .turn = { .account = account }, .withdraw = withdraw };
	list_init(&part->turn.node);
}

/* --- withdrawing ------------------------------------------------------------------------------ */

static void used(struct ahead *a, struct ahead_part *part)
{
	part->came = 0;
	line_lend(&a->line, &part->turn);
}

void ahead_came(struct ahead *a, struct ahead_part *part, size_t n)
{
	part->came += n;
	if (part->turn.held > 0 && part->came >= part->turn.held / USED_PART)
		used(a, part);
}

/* The room for part that leaves kept to others. */
static uint64_t room_for(const struct ahead *a, const struct ahead_part *part, uint64_t kept)
{
	const struct budget *b = &a->line.budget;
	uint64_t most = b->max - kept, left = b->held < most ? most - b->held : 0;

	return ahead_least(budget_room(b, part->turn.account), left);
}

/* Withdraws unused parts until there is room for n. A part with bytes in memory keeps those, and is
 * checked again after the same time. */
static void withdraw_unused(
	struct ahead *a, const struct ahead_part *part, uint64_t n, uint64_t kept)
{
	struct line_turn *unused;

	while (room_for(a, part, kept) < n && (unused = line_unused(&a->line, UNUSED_MS)) != NULL) {
		struct ahead_part *other = LIST_ENTRY(unused, struct ahead_part, turn);

		used(a, other);
		other->withdraw(other);
	}
}

/* Withdraws also used parts of the account that holds most, except bytes in memory. At most once a
 * millisecond, as all accounts are checked. */
static void charge_greediest(struct ahead *a, const struct ahead_part *part, uint64_t n)
{
	const struct account *asks = part->turn.account;
	struct account *payer;

	if (clock_ms() == a->charged_ms || asks == NULL ||
		asks->parts[ACCOUNT_AHEAD].held >= a->line.budget.least ||
		room_for(a, part, 0) >= n)
		return;
	a->charged_ms = clock_ms();
	payer = budget_greediest(&a->line.budget);
	if (payer == NULL || payer == asks)
		return;
	err_log(ERR_AHEAD, &payer->client);
	LIST_FOREACH(node, &a->line.lent) {
		struct ahead_part *other = LIST_ENTRY(node, struct ahead_part, turn.node);

		if (other->turn.account != payer)
			continue;
		if (room_for(a, part, 0) >= n)
			return;
		other->withdraw(other);
	}
}

/* --- asking and giving ------------------------------------------------------------------------ */

uint64_t ahead_take(
	struct ahead *a, struct ahead_part *part, uint64_t at_least, uint64_t n, bool growth)
{
	uint64_t kept = growth ? a->line.budget.max / 2 : 0;
	uint64_t room;

	/* A part that asks for more is in use. */
	if (part->turn.held > 0)
		used(a, part);
	withdraw_unused(a, part, n, kept);
	if (kept == 0)
		charge_greediest(a, part, ahead_least(n, AHEAD_FIRST));
	room = room_for(a, part, kept);
	if (room < n && !part->short_of && part->turn.account != NULL)
		err_log(ERR_AHEAD, &part->turn.account->client);
	part->short_of = room < n;
	if (room < at_least)
		return 0;
	n = ahead_least(room, n);
	if (n > 0) {
		line_took(&a->line, &part->turn, n);
		COUNT(receive_windows, (int64_t)n);
		used(a, part);
	}
	return n;
}

void ahead_give(struct ahead *a, struct ahead_part *part, uint64_t n)
{
	line_gave(&a->line, &part->turn, n);
	COUNT(receive_windows, -(int64_t)n);
	if (part->turn.held == 0)
		part->came = 0;
}
