/*
 * window: see window.h. A client's credit cannot be taken back over HTTP/2: so none is announced
 * beyond the rest of its uploads, and withdrawing a part breaks no promise: a client that keeps
 * sending without one is read once there is room again (window_full()).
 */
#include "proto/window.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/err.h"

enum {
	START = AHEAD_FIRST,
	FREE = AHEAD_FREE,
	KEPT_PART = 32, /* of the limit, not for streams' windows */
	LEFT_PART = 16, /* of the rest, left by each stream to later ones */
	GROWTH = 4,
	LONG_MS = 2,  /* of a round trip: in less, START already carries 4 Gbit/s */
	DUE_PART = 2, /* of a window: announced credit */
	DUE_WIDE = 8, /* of a wide window, too */
	SUM_MIN = 128 << 20,
	SUM_WINDOWS = 8, /* so many times receive-window, if that is more */
	USED_PART = 8,   /* of a part: a client that sends as much within UNUSED_MS uses it */
	UNUSED_MS = 1000,
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- the worker's sum ------------------------------------------------------------------------- */

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

	return least(budget_room(b, part->turn.account), left);
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
	LIST_EACH(struct ahead_part, other, turn.node, &a->line.lent) {
		if (other->turn.account != payer)
			continue;
		if (room_for(a, part, 0) >= n)
			return;
		other->withdraw(other);
	}
}

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
		charge_greediest(a, part, least(n, AHEAD_FIRST));
	room = room_for(a, part, kept);
	if (room < n && !part->short_of && part->turn.account != NULL)
		err_log(ERR_AHEAD, &part->turn.account->client);
	part->short_of = room < n;
	if (room < at_least)
		return 0;
	n = least(room, n);
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

/* --- the part of the worker's sum ------------------------------------------------------------- */

/* Bytes that the connection may have beyond its window and lent ones. */
static uint64_t room_of(const struct window *w)
{
	uint64_t used = w->size + w->lent;

	return used < w->limit ? w->limit - used : 0;
}

/* Bytes that it has in memory, or may have with a window of size, beyond those without a part. A
 * client may have more credit than its window: from before it shrank. */
static uint64_t needs(const struct window *w, uint64_t size)
{
	uint64_t n = size + w->lent, open = (uint64_t)w->told + w->held;

	n = open > n ? open : n;
	return n > FREE ? n - FREE : 0;
}

/* Gives the part back, except kept. */
static void give_all_but(struct window *w, uint64_t kept)
{
	if (w->ahead.turn.held > kept)
		ahead_give(w->sum, &w->ahead, w->ahead.turn.held - kept);
}

static void window_settle(struct window *w)
{
	if (w->ahead.turn.held > 0)
		give_all_but(w, needs(w, w->size));
}

/* Called by ahead_take() for another client. */
static void withdraw(struct ahead_part *part)
{
	struct window *w = LIST_ENTRY(part, struct window, ahead);

	w->narrow_for = w->came + FREE;
	w->size = FREE;
	give_all_but(w, w->held > FREE ? w->held - FREE : 0);
}

void window_open(struct window *w, struct ahead *sum, uint32_t limit, struct account *account)
{
	*w = (struct window){
		.limit = limit > FREE ? limit : FREE, .size = FREE, .sum = sum, .rtt_ms = UINT64_MAX
	};
	ahead_part_init(&w->ahead, account, withdraw);
}

void window_close(struct window *w)
{
	give_all_but(w, 0);
}

bool window_full(struct window *w)
{
	if (w->held > FREE + w->ahead.turn.held)
		ahead_take(w->sum, &w->ahead, 0, needs(w, w->size) - w->ahead.turn.held, false);
	w->full = w->held > FREE + w->ahead.turn.held;
	return w->full;
}

/* --- how wide --------------------------------------------------------------------------------- */

/* True if the body exceeds the first window. */
static bool is_long(const struct window_share *s)
{
	return s->length > FREE;
}

static void count_in(struct window *w, struct window_share *s)
{
	w->nlong += !s->counted;
	s->counted = true;
}

/* Counts the expected bytes of the body, up to a window: more need not be known. */
static void count_rest(struct window *w, struct window_share *s)
{
	uint64_t rest = least(s->length > s->came ? s->length - s->came : 0, w->limit);

	w->rest += rest - s->rest;
	s->rest = rest;
}

/* A window for present and expected bytes, and the first one for any others. */
static uint64_t enough(const struct window *w)
{
	return FREE + w->rest + w->held - w->lent;
}

/* Stops announcing credit that no upload can use: so after the last one the client has no more of
 * it than at the beginning. */
static void trim(struct window *w)
{
	w->size = (uint32_t)least(w->size, enough(w));
}

/* Widens the window to size, as far as there is room in the worker's sum; whole: or not at all. */
static bool widen_to(struct window *w, uint64_t size, bool whole)
{
	uint64_t need = needs(w, size),
		 n = need > w->ahead.turn.held ? need - w->ahead.turn.held : 0;
	uint64_t got = n > 0 ? ahead_take(w->sum, &w->ahead, whole ? n : 0, n, !whole) : 0;

	if (whole && got < n)
		return false;
	if (size > w->size + (n - got))
		w->size = (uint32_t)(size - (n - got));
	window_settle(w);
	return true;
}

/* Sets the first window of an upload: START, or more if the path took more before. */
static void window_begin(struct window *w)
{
	uint64_t most = least(w->limit - w->lent, enough(w)), size = least(START, most);

	w->narrow_for = size > w->size && !widen_to(w, size, true) ? w->came + 1 : 0;
	size = least(w->grown, most);
	if (w->narrow_for == 0 && size > w->size)
		widen_to(w, size, false);
}

/* Connections keep theirs when a worker's sum is used up, and ask again. */
bool window_widen(struct window *w, struct window_share *s)
{
	if (!is_long(s) || (s->wide && (w->narrow_for == 0 || w->came < w->narrow_for)))
		return false;
	s->wide = true;
	count_in(w, s);
	count_rest(w, s);
	window_begin(w);
	return true;
}

/*
 * A stream whose body is not taken holds all bytes of its window. So all of them are less than the
 * connection's limit, and each leaves a part to the next. Of several none has more than START or
 * about half of an even part; the other half is for later ones.
 */
bool window_share(struct window *w, struct window_share *s)
{
	uint64_t rest = w->limit - w->limit / KEPT_PART, even, size;
	uint32_t others = w->shares - s->size;

	if (!s->wide)
		return false;
	even = rest / (2 * w->nlong - 1);
	rest = others < rest ? rest - others : 0;
	size = least(w->size, even > START ? even : START);
	size = least(size, rest - rest / LEFT_PART);
	if (size <= s->size || size <= FREE)
		return false;
	w->shares += (uint32_t)size - s->size;
	s->size = (uint32_t)size;
	return true;
}

/* --- measuring the path ----------------------------------------------------------------------- */

static bool is_measured(const struct window *w)
{
	return w->asked || w->rtt_ms != UINT64_MAX;
}

void window_expect(struct window *w, struct window_share *s)
{
	if (!is_long(s))
		return;
	count_in(w, s);
	/* A body of unknown length can wait for its second DATA frame. */
	if (s->length != BODY_UNKNOWN && w->limit > START && !is_measured(w))
		w->asks = true;
}

void window_asked(struct window *w, uint64_t now_ms)
{
	w->asks = false;
	w->asked = true;
	w->asked_ms = now_ms;
}

/* The shortest time is the path's own: longer ones include the client's queue before the answer. */
void window_answered(struct window *w, uint64_t now_ms)
{
	if (w->asked)
		w->rtt_ms = least(w->rtt_ms, now_ms - w->asked_ms);
	w->asked = false;
}

static bool window_grow(struct window *w, uint64_t want)
{
	uint32_t was = w->size;

	want = least(want, w->size + room_of(w));
	if (want > w->grown)
		w->grown = (uint32_t)want;
	want = least(want, w->size + w->rest - least(w->told, w->rest));
	if (want > w->size)
		widen_to(w, want, false);
	w->asks = w->asks || w->size > was;
	return w->size > was;
}

/*
 * Bytes taken within a round trip came and went as fast as the path and the disk allow. If that is
 * more than half of the window, the client waits for credit, now or soon.
 */
static bool measure(struct window *w, uint64_t now_ms)
{
	uint64_t ms = now_ms - w->since_ms, taken = w->came - w->held - w->since_taken;
	uint64_t on_the_way;

	if (w->size <= FREE || w->rtt_ms == UINT64_MAX || w->rtt_ms < LONG_MS ||
		taken < w->size / 2)
		return false;
	on_the_way = taken * w->rtt_ms / (ms > 0 ? ms : 1);
	return on_the_way > w->size / 2 && room_of(w) > 0 && window_grow(w, GROWTH * on_the_way);
}

/* A stretch begins when the last one is longer than a round trip, or at the end of a silence, which
 * does not measure the path. */
static void stretch(struct window *w, uint64_t now_ms)
{
	bool silent = w->held == 0 && now_ms - w->came_ms >= LONG_MS;

	w->came_ms = now_ms;
	if (!silent && w->rtt_ms != UINT64_MAX && now_ms - w->since_ms <= w->rtt_ms)
		return;
	w->since_ms = now_ms;
	w->since_taken = w->came - w->held;
}

bool window_came(struct window *w, struct window_share *s, size_t n, uint64_t now_ms)
{
	stretch(w, now_ms);
	s->came += n;
	s->held += n;
	w->held += n;
	w->came += n;
	if (s->wide) {
		count_rest(w, s);
		ahead_came(w->sum, &w->ahead, n);
	}
	if (w->size > FREE && !is_measured(w))
		w->asks = true;
	return measure(w, now_ms);
}

/* --- held bytes ------------------------------------------------------------------------------- */

bool window_in_the_way(const struct window *w)
{
	return w->held - w->lent > w->size / 4;
}

bool window_lend(struct window *w, struct window_share *s)
{
	size_t n = (size_t)least(s->held - s->lent, room_of(w));

	if (n > 0)
		n = (size_t)ahead_take(w->sum, &w->ahead, 0, n, false);
	s->lent += n;
	w->lent += n;
	window_settle(w);
	return n > 0;
}

static void let_go(struct window *w, struct window_share *s, size_t n)
{
	size_t back = (size_t)least(n, s->lent);

	s->held -= n;
	w->held -= n;
	s->lent -= back;
	w->lent -= back;
}

/* The client may have sent all before the disk has any of it: so the path is measured here, too. */
bool window_taken(struct window *w, struct window_share *s, size_t n, uint64_t now_ms)
{
	bool grew;

	let_go(w, s, (size_t)least(n, s->held));
	grew = measure(w, now_ms);
	trim(w);
	window_settle(w);
	return grew;
}

bool window_leave(struct window *w, struct window_share *s)
{
	bool shared = s->size > 0;

	let_go(w, s, s->held);
	w->nlong -= s->counted;
	w->rest -= s->rest;
	w->shares -= s->size;
	*s = (struct window_share){ 0 };
	trim(w);
	window_settle(w);
	return shared;
}

uint32_t window_due(uint32_t size, size_t held, int64_t told, bool eager)
{
	int64_t untold = (int64_t)size - (int64_t)held - told;

	/* A client stalls on a path with more than half of a window in flight, or if others have as
	 * much. */
	if (untold > size / (eager || size > START ? DUE_WIDE : DUE_PART))
		return (uint32_t)untold;
	return untold > 0 && untold > told ? (uint32_t)untold : 0;
}
