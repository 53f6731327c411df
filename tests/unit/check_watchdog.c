/* check_watchdog: what is done, look by look, with a process that ticks or does not. */
#include "master/watchdog.h"

#include "unit_pure.h"

TEST(who_ticks_is_fine)
{
	struct watchdog w = { 0 };

	for (unsigned i = 0; i < 100; i++)
		ck_assert_int_eq(watchdog_look(&w, i / 3, 4), WATCHDOG_FINE);
}

TEST(who_does_not_is_ended)
{
	struct watchdog w = { 0 };

	ck_assert_int_eq(watchdog_look(&w, 7, 3), WATCHDOG_FINE);
	ck_assert_int_eq(watchdog_look(&w, 7, 3), WATCHDOG_FINE);
	ck_assert_int_eq(watchdog_look(&w, 7, 3), WATCHDOG_FINE);
	ck_assert_int_eq(watchdog_look(&w, 7, 3), WATCHDOG_STUCK);
	/* It wakes up: too late. */
	ck_assert_int_eq(watchdog_look(&w, 8, 3), WATCHDOG_KILL);
	for (unsigned i = 5; i < 33; i++)
		ck_assert_int_eq(watchdog_look(&w, 8, 3), WATCHDOG_WAIT);
	ck_assert_int_eq(watchdog_look(&w, 8, 3), WATCHDOG_BEYOND);
}

TEST(off)
{
	struct watchdog w = { 0 };

	for (unsigned i = 0; i < 1000; i++)
		ck_assert_int_eq(watchdog_look(&w, 7, 0), WATCHDOG_FINE);
}

/* A worker that has gone mad writes what it likes. */
TEST(any_number_will_do)
{
	struct watchdog w = { 0 };

	ck_assert_int_eq(watchdog_look(&w, UINT64_MAX, 1), WATCHDOG_FINE);
	ck_assert_int_eq(watchdog_look(&w, 0, 1), WATCHDOG_FINE);
	ck_assert_int_eq(watchdog_look(&w, 0, 1), WATCHDOG_STUCK);
}
