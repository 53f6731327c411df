/*
 * check_window: sizes of a connection's window and of its streams' by bytes and times alone: when a
 * PING is worth its while, what a path is found to take, what is announced, what is lent.
 */
#include "base/clock.h"
#include "base/counters.h"
#include "proto/window.h"
#include "unit_pure.h"

enum { MIB = 1 << 20, LIMIT = 16 * MIB };

static struct ahead ahead;
static struct window w;
static struct window_share s;
static uint64_t now_ms;

static void pass(uint64_t ms)
{
	now_ms += ms;
	clock_set(1000 * now_ms, (struct timespec){ 0 });
}

UNIT_SETUP(setup)
{
	now_ms = 1000;
	pass(0);
	ahead_init(&ahead, LIMIT);
	window_open(&w, &ahead, LIMIT, NULL);
	w.told = AHEAD_FREE;
	s = (struct window_share){ .length = UINT64_MAX };
}

UNIT_TEARDOWN(teardown)
{
	window_leave(&w, &s);
	window_close(&w);
	ck_assert_uint_eq(ahead.line.budget.held, 0);
}

/* The client knows of all credit, and sends n bytes of it after as long; all of them are taken.
 * Whether the window has grown. */
static bool comes(uint64_t ms, size_t n)
{
	bool grew;

	pass(ms);
	w.told = w.size - (uint32_t)n;
	grew = window_came(&w, &s, n, now_ms);
	return window_taken(&w, &s, n, now_ms) || grew;
}

static void answered_after(uint64_t ms)
{
	window_asked(&w, now_ms);
	pass(ms);
	window_answered(&w, now_ms);
}

static void begins(void)
{
	ck_assert(window_widen(&w, &s));
	ck_assert_uint_eq(w.size, MIB);
}

/* Before the first long body, and not while an answer is awaited; the least round trip counts. */
TEST(round_trips)
{
	struct window_share brief = { .length = 1000 }, endless = { .length = UINT64_MAX };

	window_expect(&w, &brief);
	window_expect(&w, &endless);
	ck_assert(!w.asks);
	s.length = 10 * MIB;
	window_expect(&w, &s);
	ck_assert(w.asks);
	window_answered(&w, now_ms);
	ck_assert_uint_eq(w.rtt_ms, UINT64_MAX);
	window_asked(&w, now_ms);
	window_expect(&w, &s);
	ck_assert(!w.asks);
	pass(50);
	window_answered(&w, now_ms);
	answered_after(30);
	answered_after(70);
	ck_assert_uint_eq(w.rtt_ms, 30);
	window_expect(&w, &s);
	ck_assert(!w.asks);
	window_leave(&w, &endless);
}

/* A body of no known length: once somebody takes it, and more comes. */
TEST(asks_behind_the_first_bytes)
{
	window_came(&w, &s, 1000, now_ms);
	ck_assert(!w.asks);
	begins();
	ck_assert(!w.asks);
	window_came(&w, &s, 1000, now_ms);
	ck_assert(w.asks);
}

/* 100 KiB each millisecond, 20 ms long: 2000 KiB are on the way. */
TEST(grows)
{
	unsigned ms;

	begins();
	answered_after(20);
	ck_assert(!comes(10, 100 << 10));
	ck_assert(!w.asks);
	for (ms = 1; ms < 20 && !comes(1, 100 << 10); ms++)
		;
	ck_assert_uint_eq(ms, 5);
	ck_assert(w.asks);
	ck_assert_uint_ge(w.size, 4 * 2000 << 10);
	ck_assert_uint_le(w.size, 4 * 2000 * 6 / 5 << 10);
	ck_assert_uint_eq(ahead.line.budget.held, w.size - AHEAD_FREE);
	/* And that is enough for it. */
	for (ms = 0; ms < 100; ms++)
		ck_assert(!comes(1, 100 << 10));
}

/* A path that is shorter than can be told, one that nobody has measured, and a slow one. */
TEST_EACH(does_not_grow, 3)
{
	static const struct {
		uint64_t rtt_ms;
		size_t each_ms;
	} paths[] = { { 1, MIB }, { 0, MIB }, { 100, 1000 } };

	begins();
	if (paths[_i].rtt_ms > 0)
		answered_after(paths[_i].rtt_ms);
	for (unsigned ms = 0; ms < 1000; ms++)
		ck_assert(!comes(1, paths[_i].each_ms));
	ck_assert_uint_eq(w.size, MIB);
}

/* A silence is no part of what the path takes. */
TEST(silence)
{
	begins();
	answered_after(100);
	ck_assert(!comes(1, 400 << 10));
	ck_assert(!comes(50, 200 << 10));
	ck_assert(!comes(50, 100 << 10));
	ck_assert(comes(1, 700 << 10));
	ck_assert_uint_eq(w.size, LIMIT);
}

/* No more than is to come; and the next body begins with what the path took. */
TEST(rest)
{
	s.length = 3 * MIB;
	begins();
	answered_after(100);
	ck_assert(comes(1, MIB));
	ck_assert_uint_le(w.size, 2 * MIB + AHEAD_FREE);
	ck_assert(!comes(1, 2 * MIB));
	ck_assert_uint_eq(w.size, AHEAD_FREE);
	ck_assert_uint_eq(ahead.line.budget.held, 0);
	window_leave(&w, &s);
	s.length = UINT64_MAX;
	window_widen(&w, &s);
	ck_assert_uint_eq(w.size, LIMIT);
}

/* Bytes that nobody takes leave room for the other streams, as far as there is some. */
TEST(lends)
{
	size_t lent = 0;

	begins();
	ck_assert(window_share(&w, &s));
	for (unsigned i = 0; i < 100; i++) {
		w.told = 0;
		window_came(&w, &s, MIB / 4, now_ms);
		if (window_in_the_way(&w) && window_lend(&w, &s))
			lent = s.lent;
	}
	ck_assert(window_in_the_way(&w));
	ck_assert_uint_eq(lent, LIMIT - w.size);
	ck_assert_uint_eq(w.lent, lent);
	window_taken(&w, &s, SIZE_MAX, now_ms);
	ck_assert_uint_eq(w.held + w.lent + s.held + s.lent, 0);
}

static const struct {
	uint32_t size;
	size_t held;
	int64_t told;
	bool eager;
	uint32_t due;
} cases[] = {
	{ AHEAD_FREE, 0, AHEAD_FREE, true, 0 },
	{ AHEAD_FREE, 0, 40000, false, 0 },
	{ AHEAD_FREE, 0, 30000, false, 35535 },
	{ AHEAD_FREE, 30000, 30000, false, 0 },
	{ AHEAD_FREE, 30000, 15000, false, 20535 }, /* more than the client has */
	{ MIB, 0, AHEAD_FREE, true, MIB - AHEAD_FREE },
	{ 8 * MIB, 0, 7 * MIB, false, 0 },
	{ 8 * MIB, 0, 7 * MIB - 1, false, MIB + 1 },
	{ AHEAD_FREE, 0, 8 * MIB, false, 0 }, /* the window shrank */
	{ AHEAD_FREE, 0, -10, false, AHEAD_FREE + 10 },
};

TEST_ROWS(due, cases)
{
	ck_assert_uint_eq(
		window_due(cases[_i].size, cases[_i].held, cases[_i].told, cases[_i].eager),
		cases[_i].due);
}
