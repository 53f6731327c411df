/* check_h2_path: what is known of a path by the times at which bytes came and PINGs were answered.
 */
#include "proto/h2_path.h"
#include "unit.h"

enum { MIB = 1 << 20 };

static struct h2_path path;
static uint64_t came, now_ms;

/* n bytes come after as long; all but held are taken. */
static void come(uint64_t ms, size_t n, size_t held)
{
	now_ms += ms;
	came += n;
	h2_path_came(&path, n, came, held + n, now_ms);
}

static void answer(uint64_t ms)
{
	h2_path_asked(&path, came, now_ms);
	now_ms += ms;
	h2_path_answered(&path, now_ms);
}

static uint64_t load(size_t held)
{
	return h2_path_load(&path, came, held, MIB, now_ms);
}

static void setup(void)
{
	path = (struct h2_path){ 0 };
	came = 0;
	now_ms = 1000;
}

/* Again after 10 ms and an eighth of a window, and of a short path never. */
START_TEST(when_to_ask)
{
	ck_assert(h2_path_may_ask(&path, 0, MIB, now_ms));
	h2_path_asked(&path, 0, now_ms);
	ck_assert(!h2_path_may_ask(&path, MIB, MIB, now_ms + 1000));
	h2_path_answered(&path, now_ms + 20);
	ck_assert(!h2_path_may_ask(&path, MIB, MIB, now_ms + 9));
	ck_assert(!h2_path_may_ask(&path, MIB / 8 - 1, MIB, now_ms + 100));
	ck_assert(h2_path_may_ask(&path, MIB / 8, MIB, now_ms + 10));
	answer(1);
	ck_assert(!h2_path_may_ask(&path, 10 * MIB, MIB, now_ms + 1000));
}
END_TEST

/* The least of all answers; one that nobody asked for is none. */
START_TEST(round_trips)
{
	h2_path_answered(&path, now_ms);
	ck_assert_uint_eq(path.trips, 0);
	answer(50);
	answer(30);
	answer(70);
	ck_assert_uint_eq(path.rtt_ms, 30);
	ck_assert_uint_eq(path.trips, 3);
}
END_TEST

/* 100 KiB each millisecond, 20 ms long. */
START_TEST(on_the_way)
{
	answer(20);
	come(10, 100 << 10, 0);
	for (unsigned ms = 1; ms <= 4; ms++)
		come(1, 100 << 10, 0);
	ck_assert_msg(load(0) == 0, "less than half a window tells nothing");
	come(1, 100 << 10, 0);
	come(1, 100 << 10, 0);
	ck_assert_uint_ge(load(0), 20 * (100 << 10));
	ck_assert_uint_le(load(0), 20 * (100 << 10) * 7 / 6);
	ck_assert_msg(load(400 << 10) == 0, "more is held than was taken");
	/* What is silent between is not the path's. */
	come(500, 100 << 10, 0);
	ck_assert_uint_eq(path.since_ms, now_ms);
}
END_TEST

/* Of one that is shorter than can be told there is nothing to say. */
START_TEST(short_path)
{
	answer(1);
	for (unsigned ms = 0; ms < 20; ms++)
		come(1, MIB, 0);
	ck_assert_uint_eq(load(0), 0);
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("h2_path");

	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, when_to_ask);
	tcase_add_test(c, round_trips);
	tcase_add_test(c, on_the_way);
	tcase_add_test(c, short_path);
	return c;
}

UNIT_MAIN("h2_path")
