/* check_handler_slow: a call that holds the loop up is counted, what the loop does between calls
 * is not. */
#include "base/counters.h"
#include "request/handler_call.h"

#include "unit.h"

enum { TRIES = 10, HELD_MS = 150 };

static void hold(void)
{
	usleep(HELD_MS * 1000);
}

static void nothing(void)
{
}

static void call(void (*fn)(void))
{
	struct crash_call call = { .handler = "thing" };

	handler_call_begin(&call);
	fn();
	handler_call_exit();
}

static void nested_hold(void)
{
	call(hold);
	call(hold);
}

static void nested_after_hold(void)
{
	hold();
	call(nothing);
}

/* How many calls were found slow while step() ran. */
static int64_t found(void (*step)(void))
{
	int64_t before = counters->handler_slow;

	step();
	return counters->handler_slow - before;
}

/* A machine that stands still now and then decides no try but that one. */
static bool once(void (*step)(void), int64_t n)
{
	for (int i = 0; i < TRIES; i++)
		if (found(step) == n)
			return true;
	return false;
}

static void many_and_one(void)
{
	for (int i = 0; i < 100; i++)
		call(i == 50 ? hold : nothing);
}

static void one(void)
{
	call(hold);
}

static void nest(void)
{
	call(nested_hold);
}

static void nest_after(void)
{
	call(nested_after_hold);
}

static void between(void)
{
	call(nothing);
	hold();
	call(nothing);
	call(nothing);
}

TEST(a_slow_call_is_found)
{
	handler_slow_start();
	ck_assert(once(one, 1));
	ck_assert(once(many_and_one, 1));
	handler_slow_stop();
}

TEST(a_call_inside_of_another_is_its_time)
{
	handler_slow_start();
	ck_assert(once(nest, 1));
	ck_assert(once(nest_after, 1));
	handler_slow_stop();
}

TEST(what_is_between_calls_is_no_call)
{
	handler_slow_start();
	ck_assert(once(between, 0));
	handler_slow_stop();
}

TEST(nobody_looks)
{
	ck_assert_int_eq(found(one), 0);
	handler_slow_start();
	handler_slow_stop();
	ck_assert_int_eq(found(one), 0);
	handler_slow_stop();
}
