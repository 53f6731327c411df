/*
 * check_timer: the wheel against a list that is searched: nothing early, nothing late, in order of
 * time, whatever is armed and disarmed in between; and that waiting by wheel_wait() wakes seldom.
 */
#include "event/loop.h"

#include "unit.h"

/* libcheck's own assertions tell the parent each time they hold: too slow by the million. */
#define EXPECT(x) \
	do { \
		if (!(x)) \
			ck_abort_msg("%s: now %llu", #x, (unsigned long long)now); \
	} while (0)

enum { TIMERS = 200 };

struct item {
	struct timer timer;
	bool due, fired; /* in this advance: what the oracle says, and what happened */
};

static struct wheel wheel;
static struct item items[TIMERS];
static uint64_t now, last_at;
static unsigned armed, seed;
static bool meddle;

static uint64_t rnd(uint64_t n)
{
	uint64_t r = (uint64_t)rand_r(&seed) << 40 ^ (uint64_t)rand_r(&seed) << 20 ^
		     (uint64_t)rand_r(&seed);

	return r % n;
}

/* Times of every magnitude, in the past too. */
static uint64_t some_time(void)
{
	uint64_t span = UINT64_C(1) << rnd(36);

	return rnd(8) == 0 ? now - rnd(now < span ? now : span) : now + rnd(span);
}

static void arm(struct item *it, uint64_t at)
{
	armed += !timer_armed(&it->timer);
	timer_arm(&wheel, &it->timer, at);
	EXPECT(timer_armed(&it->timer));
	it->due = false;
}

static void disarm(struct item *it)
{
	armed -= timer_armed(&it->timer);
	timer_disarm(&wheel, &it->timer);
	EXPECT(!timer_armed(&it->timer));
	it->due = false;
}

static void on_timer(struct timer *t)
{
	struct item *it = (struct item *)(void *)t;

	EXPECT(!timer_armed(t));
	EXPECT(it->due);
	armed--;
	it->due = false;
	it->fired = true;
	if (meddle && rnd(3) == 0)
		arm(&items[rnd(TIMERS)], some_time());
	if (meddle && rnd(3) == 0)
		disarm(&items[rnd(TIMERS)]);
	if (meddle && rnd(8) == 0)
		arm(it, now);
}

static void check_bits(void)
{
	for (int level = 0; level < WHEEL_LEVELS; level++) {
		uint64_t used = 0;

		for (int slot = 0; slot < WHEEL_SLOTS; slot++)
			used |= (uint64_t)!list_empty(&wheel.slots[level][slot]) << slot;
		EXPECT(wheel.used[level] == used);
	}
	EXPECT(wheel.armed == armed);
}

static void check_wait(void)
{
	uint64_t first = UINT64_MAX;
	int wait = wheel_wait(&wheel, now);

	for (int i = 0; i < TIMERS; i++) {
		if (timer_armed(&items[i].timer) && items[i].timer.at < first)
			first = items[i].timer.at;
	}
	if (armed == 0) {
		EXPECT(wait == -1);
		return;
	}
	EXPECT(wait >= 0);
	EXPECT(now + (uint64_t)wait <= (first > now ? first : now));
	if (first <= now)
		EXPECT(wait == 0);
	else if (first > now + 64)
		EXPECT(wait > 0);
}

static void advance_to(uint64_t to)
{
	now = to;
	for (int i = 0; i < TIMERS; i++) {
		items[i].due = timer_armed(&items[i].timer) && items[i].timer.at <= now;
		items[i].fired = false;
	}
	wheel_advance(&wheel, now);
	for (int i = 0; i < TIMERS; i++)
		EXPECT(!items[i].due);
}

UNIT_SETUP(setup)
{
	now = 123456789;
	armed = 0;
	meddle = false;
	seed = 7;
	wheel_init(&wheel, now);
	for (int i = 0; i < TIMERS; i++)
		timer_init(&items[i].timer, on_timer);
}

TEST_EACH(against_a_list, 24)
{
	seed = (unsigned)_i + 1;
	meddle = _i % 2 == 1;
	/* Also from a start that is about to carry through every level. */
	now = rnd(UINT64_C(1) << 40);
	if (_i % 4 < 2)
		now = (UINT64_C(1) << 40) + (UINT64_C(1) << (6 * (_i % 6) + 6)) - 5;
	wheel_init(&wheel, now);
	for (int step = 0; step < 2000; step++) {
		for (uint64_t n = rnd(6); n > 0; n--)
			arm(&items[rnd(TIMERS)], some_time());
		if (rnd(3) == 0)
			disarm(&items[rnd(TIMERS)]);
		check_wait();
		switch (rnd(8)) {
		case 0:
			advance_to(now + rnd(UINT64_C(1) << rnd(34)));
			break;
		case 1:
			advance_to(now);
			break;
		case 2:
			advance_to(now + (uint64_t)(wheel_wait(&wheel, now) & INT_MAX) % 100000);
			break;
		default:
			advance_to(now + rnd(UINT64_C(1) << rnd(10)));
		}
		check_bits();
	}
	advance_to(now + (UINT64_C(1) << 40));
	meddle = false;
	advance_to(now + (UINT64_C(1) << 40));
	ck_assert_uint_eq(armed, 0);
	check_wait();
	check_bits();
}

static unsigned fired;

static void on_ordered(struct timer *t)
{
	ck_assert_uint_ge(t->at, last_at);
	last_at = t->at;
	fired++;
}

TEST(order_of_time)
{
	for (int i = 0; i < TIMERS; i++) {
		timer_init(&items[i].timer, on_ordered);
		timer_arm(&wheel, &items[i].timer, now + rnd(UINT64_C(1) << 24));
	}
	wheel_advance(&wheel, now + (UINT64_C(1) << 25));
	ck_assert_uint_eq(fired, TIMERS);
	ck_assert_uint_eq(wheel.armed, 0);
}

/* Waiting as the loop does: the timer fires on its millisecond, and few wake-ups lead there. */
TEST_EACH(wakes_seldom, 22)
{
	static const uint64_t delays[] = { 0, 1, 63, 64, 65, 1000, 4095, 4096, 4097, 10000, 60000,
		262143, 262144, 262145, 3600000, 16777216, 86400000, 1000000000, 1073741823,
		1073741824, 5000000000, 100000000000 };
	const uint64_t top = UINT64_C(1) << (6 * (WHEEL_LEVELS - 1));
	uint64_t start, end;
	unsigned wakes = 0;

	seed = (unsigned)_i;
	now = start = rnd(UINT64_C(1) << 41);
	end = start + delays[_i];
	wheel_init(&wheel, now);
	timer_init(&items[0].timer, on_timer);
	arm(&items[0], end);
	while (timer_armed(&items[0].timer)) {
		int wait = wheel_wait(&wheel, now);

		ck_assert_int_ge(wait, 0);
		if (wakes > 0)
			ck_assert_int_gt(wait, 0);
		now += (uint64_t)wait;
		wakes++;
		ck_assert_uint_le(now, end);
		items[0].due = now == end;
		wheel_advance(&wheel, now);
	}
	ck_assert_uint_eq(now, end);
	ck_assert_uint_le(wakes,
		WHEEL_LEVELS + delays[_i] / (top * (WHEEL_SLOTS - 1)) + delays[_i] / INT_MAX);
	ck_assert_int_eq(wheel_wait(&wheel, now), -1);
}

static int again_calls;

static void on_again(struct timer *t)
{
	again_calls++;
	timer_arm(&wheel, t, now);
}

/* A timer that re-arms for now does not hang the advance; it fires once in each. */
TEST(rearm_for_now)
{
	struct timer t;

	timer_init(&t, on_again);
	timer_arm(&wheel, &t, now - 5);
	ck_assert_int_eq(wheel_wait(&wheel, now), 0);
	for (int i = 1; i <= 3; i++) {
		wheel_advance(&wheel, now);
		ck_assert_int_eq(again_calls, i);
		ck_assert_int_eq(wheel_wait(&wheel, now), 0);
	}
	timer_disarm(&wheel, &t);
	timer_disarm(&wheel, &t);
	ck_assert_int_eq(wheel_wait(&wheel, now), -1);
}

TEST(time_never_goes_back)
{
	arm(&items[0], now + 10);
	wheel_advance(&wheel, now - 1000);
	ck_assert(timer_armed(&items[0].timer));
	ck_assert_int_eq(wheel_wait(&wheel, now), 10);
	ck_assert_int_eq(wheel_wait(&wheel, now + 50), 0);
	advance_to(now + 9);
	ck_assert(timer_armed(&items[0].timer));
	advance_to(now + 1);
	ck_assert(items[0].fired);
}
