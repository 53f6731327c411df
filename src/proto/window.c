/*
 * window: see window.h. A client's credit cannot be taken back: so none is announced beyond the
 * rest of its uploads, and a client that keeps sending without a part is not read (window_full()).
 */
#include "proto/window.h"

enum {
	START = AHEAD_FIRST,
	FREE = AHEAD_FREE,
	KEPT_PART = 32, /* of the limit, not for streams' windows */
	LEFT_PART = 16, /* of the rest, left by each stream to later ones */
	GROWTH = 4,
	LONG_MS = 2,  /* of a round trip: in less, START already carries 4 Gbit/s */
	DUE_PART = 2, /* of a window: announced credit */
	DUE_WIDE = 8, /* of a wide window, too */
};

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

/* Called by ahead.c, when another client needs the part. */
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
	uint64_t rest = ahead_least(s->length > s->came ? s->length - s->came : 0, w->limit);

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

/* Sets the first window of an upload: START, or more if the path took more before. */
static void window_begin(struct window *w)
{
	uint64_t most = ahead_least(w->limit - w->lent, enough(w)), size = ahead_least(START, most);

	w->narrow_for = size > w->size && !widen_to(w, size, true) ? w->came + 1 : 0;
	size = ahead_least(w->grown, most);
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
	size = ahead_least(w->size, even > START ? even : START);
	size = ahead_least(size, rest - rest / LEFT_PART);
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

/* The client may have sent all before the disk has any of it: so the path is measured here, too. */
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

	/* A client stalls on a path with more than half of a window in flight, or if others have as
	 * much. */
	if (untold > size / (eager || size > START ? DUE_WIDE : DUE_PART))
		return (uint32_t)untold;
	return untold > 0 && untold > told ? (uint32_t)untold : 0;
}
