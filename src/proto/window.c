/*
 * window: see window.h. Credit that a client has cannot be taken back: so none is announced beyond
 * what its uploads have yet to send, and whoever sends on without a part is not read
 * (window_full()).
 */
#include "proto/window.h"

enum {
	START = AHEAD_FIRST,
	FREE = AHEAD_FREE,
	KEPT_PART = 32, /* of the limit, what no stream's window is made of */
	LEFT_PART = 16, /* of the rest, what each stream leaves to later ones */
	GROWTH = 4,
	LONG_MS = 2,  /* of a round trip: in less, START is as much as 4 Gbit/s take */
	DUE_PART = 2, /* of a window: credit that is announced */
	DUE_WIDE = 8, /* such a part of a wide one */
};

/* --- the part of the worker's sum ------------------------------------------------------------- */

/* Bytes that the connection may have beyond its window and what is lent. */
static uint64_t room_of(const struct window *w)
{
	uint64_t used = w->size + w->lent;

	return used < w->limit ? w->limit - used : 0;
}

/* Bytes that it has in memory, or may have with a window of size, beyond what needs no part. A
 * client may have more credit than its window is: from before it shrank. */
static uint64_t needs(const struct window *w, uint64_t size)
{
	uint64_t n = size + w->lent, open = (uint64_t)w->told + w->held;

	n = open > n ? open : n;
	return n > FREE ? n - FREE : 0;
}

/* Gives back what the part has beyond kept. */
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

/* Called by ahead.c, when somebody else needs the part. */
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

/* Whether the body is more than the first window takes. */
static bool is_long(const struct window_share *s)
{
	return s->length > FREE;
}

static void count_in(struct window *w, struct window_share *s)
{
	w->nlong += !s->counted;
	s->counted = true;
}

/* Counts the bytes of the body that are to come, up to a window: there is no need to know of
 * more. */
static void count_rest(struct window *w, struct window_share *s)
{
	uint64_t rest = ahead_least(s->length > s->came ? s->length - s->came : 0, w->limit);

	w->rest += rest - s->rest;
	s->rest = rest;
}

/* A window for what is there and what is to come, and the first one for whatever else comes. */
static uint64_t enough(const struct window *w)
{
	return FREE + w->rest + w->held - w->lent;
}

/* Stops announcing credit that no upload has a use for: so behind the last one the client has no
 * more of it than at the beginning. */
static void trim(struct window *w)
{
	w->size = (uint32_t)ahead_least(w->size, enough(w));
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

/* The window that an upload begins with: START, and on a path that took more before, as much as
 * that. */
static void window_begin(struct window *w)
{
	uint64_t most = ahead_least(w->limit - w->lent, enough(w)), size = ahead_least(START, most);

	w->narrow_for = size > w->size && !widen_to(w, size, true) ? w->came + 1 : 0;
	size = ahead_least(w->grown, most);
	if (w->narrow_for == 0 && size > w->size)
		widen_to(w, size, false);
}

/* Connections stay with what they have where a worker's sum is used up, and ask again. */
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
 * A stream that nobody takes holds all that its window lets come. So all of them are less than what
 * the connection may come to, and each leaves something to the next. Of several none has more than
 * START or about half of an even part; the other half is for those that follow.
 */
bool window_share(struct window *w, struct window_share *s)
{
	uint64_t rest = w->limit - w->limit / KEPT_PART, even, size;
	uint32_t others = w->shares - s->size;

	if (!s->wide)
		return false;
	even = rest / (2 * w->nlong - 1);
	rest = others < rest ? rest - others : 0;
	size = ahead_least(w->size, even > START ? even : START);
	size = ahead_least(size, rest - rest / LEFT_PART);
	if (size <= s->size || size <= FREE)
		return false;
	w->shares += (uint32_t)size - s->size;
	s->size = (uint32_t)size;
	return true;
}

/* --- what the path takes ---------------------------------------------------------------------- */

static bool is_measured(const struct window *w)
{
	return w->asked || w->rtt_ms != UINT64_MAX;
}

void window_expect(struct window *w, struct window_share *s)
{
	if (!is_long(s))
		return;
	count_in(w, s);
	/* A body of no known length can wait for its second DATA frame. */
	if (s->length != BODY_UNKNOWN && w->limit > START && !is_measured(w))
		w->asks = true;
}

void window_asked(struct window *w, uint64_t now_ms)
{
	w->asks = false;
	w->asked = true;
	w->asked_ms = now_ms;
}

/* The least of the times is the path's own: later ones are as long as what the client has in line
 * in front of the answer. */
void window_answered(struct window *w, uint64_t now_ms)
{
	if (w->asked)
		w->rtt_ms = ahead_least(w->rtt_ms, now_ms - w->asked_ms);
	w->asked = false;
}

static bool window_grow(struct window *w, uint64_t want)
{
	uint32_t was = w->size;

	want = ahead_least(want, w->size + room_of(w));
	if (want > w->grown)
		w->grown = (uint32_t)want;
	want = ahead_least(want, w->size + w->rest - ahead_least(w->told, w->rest));
	if (want > w->size)
		widen_to(w, want, false);
	w->asks = w->asks || w->size > was;
	return w->size > was;
}

/*
 * Bytes that were taken within a round trip came and went as fast as the path and the disk could.
 * Where that is more than half of the window, the client waits for credit, if not now then soon.
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

/* A stretch begins where the last one is longer than a round trip, or where a silence ends, which
 * is no part of what the path takes. */
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

/* --- what is held ----------------------------------------------------------------------------- */

bool window_in_the_way(const struct window *w)
{
	return w->held - w->lent > w->size / 4;
}

bool window_lend(struct window *w, struct window_share *s)
{
	size_t n = (size_t)ahead_least(s->held - s->lent, room_of(w));

	if (n > 0)
		n = (size_t)ahead_take(w->sum, &w->ahead, 0, n, false);
	s->lent += n;
	w->lent += n;
	window_settle(w);
	return n > 0;
}

static void let_go(struct window *w, struct window_share *s, size_t n)
{
	size_t back = (size_t)ahead_least(n, s->lent);

	s->held -= n;
	w->held -= n;
	s->lent -= back;
	w->lent -= back;
}

/* All that the client could send may have come before the disk has any of it: so the path is looked
 * at here, too. */
bool window_taken(struct window *w, struct window_share *s, size_t n, uint64_t now_ms)
{
	bool grew;

	let_go(w, s, (size_t)ahead_least(n, s->held));
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

	/* A client stands still on a path that has more than half of a window on the way, or where
	 * others have as much. */
	if (untold > size / (eager || size > START ? DUE_WIDE : DUE_PART))
		return (uint32_t)untold;
	return untold > 0 && untold > told ? (uint32_t)untold : 0;
}
