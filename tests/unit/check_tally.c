/*
 * check_tally: what a rate lets through, at any time of the clock; several processes that count the
 * same client; a table that many clients fill, or that a process has filled with nonsense.
 */
#include "share/tally.h"

#include "unit.h"

#define NS_PER_S UINT64_C(1000000000)

static struct tally *t;
static struct rate rate; /* 100 a second, 20 at once */

UNIT_SETUP(setup)
{
	t = tally_new();
	ck_assert_ptr_nonnull(t);
	rate = rate_of(100, 20, "", "requests");
}

UNIT_TEARDOWN(teardown)
{
	tally_free(&t);
	ck_assert_ptr_null(t);
}

static uint64_t take(uint64_t mark, uint64_t now_us)
{
	return tally_take(t, mark, &rate, rate.cost_ns, now_us);
}

/* Takes until it is refused; how many it got. */
static unsigned take_all(uint64_t mark, uint64_t now_us)
{
	unsigned n = 0;

	while (n < 1000 && take(mark, now_us) == 0)
		n++;
	return n;
}

static const uint64_t clocks_us[] = { 0, 1, 3000000, UINT64_C(2151360000000) /* 24.9 days */,
	UINT64_C(4294967296000) /* 2^32 ms */, UINT64_C(1) << 48, UINT64_C(1) << 53 };

TEST_ROWS(burst_and_rate, clocks_us)
{
	uint64_t now = clocks_us[_i], wait;

	ck_assert_uint_eq(take_all(7, now), 20);
	wait = take(7, now);
	ck_assert_uint_eq(wait, NS_PER_S / 100);
	ck_assert_uint_eq(take(7, now + wait / 1000 - 1), 1000);
	ck_assert_uint_eq(take_all(7, now + wait / 1000), 1);
	/* What it was refused costs nothing. */
	ck_assert_uint_eq(take_all(7, now + 3 * wait / 1000), 2);
	ck_assert_uint_eq(take_all(7, now + 1000000), 20);
	/* A clock that another process read a little earlier. */
	if (now > 2000)
		ck_assert_uint_gt(take(7, now - 2000), 0);
}

TEST(clients_and_rules_apart)
{
	struct rate of_login = rate_of(100, 5, "_ /login", "requests");
	struct rate of_bytes = rate_of(100, 5, "", "bytes");

	ck_assert_uint_ne(of_login.rule, rate.rule);
	ck_assert_uint_ne(of_bytes.rule, rate.rule);
	ck_assert_uint_eq(rate_of(1, 1, "_ /login", "requests").rule, of_login.rule);
	ck_assert_uint_eq(take_all(1, 0), 20);
	ck_assert_uint_eq(take_all(2, 0), 20);
	ck_assert_uint_eq(tally_take(t, 1, &of_login, of_login.cost_ns, 0), 0);
	ck_assert_uint_eq(tally_take(t, 1, &of_bytes, 5 * of_bytes.cost_ns, 0), 0);
	ck_assert_uint_gt(tally_take(t, 1, &of_bytes, of_bytes.cost_ns, 0), 0);
	ck_assert_uint_gt(take(1, 0), 0);
}

/* A reload makes 1 a second of it, and then 1000. */
TEST(another_rate_of_the_rule)
{
	struct rate slow = rate_of(1, 60, "", "requests");
	struct rate fast = rate_of(1000, 10, "", "requests");
	unsigned n = 0;

	while (tally_take(t, 7, &slow, slow.cost_ns, 0) == 0)
		n++;
	ck_assert_uint_eq(n, 60);
	/* It waits no longer than by the new rate. */
	ck_assert_uint_le(tally_take(t, 7, &fast, fast.cost_ns, 0), 10 * fast.cost_ns);
	ck_assert_uint_eq(tally_take(t, 7, &fast, fast.cost_ns, 100), fast.cost_ns - 100000);
}

TEST_ROWS(extremes, clocks_us)
{
	struct rate most = rate_of(1000000000, UINT64_MAX, "", "a");
	struct rate least = rate_of(1, 1, "", "b");
	struct rate deep = rate_of(1, UINT64_MAX, "", "c");

	ck_assert_uint_eq(most.cost_ns, 1);
	ck_assert_uint_eq(most.depth_ns, RATE_DEPTH_MAX);
	ck_assert_uint_eq(deep.depth_ns, RATE_DEPTH_MAX);
	ck_assert_uint_eq(tally_take(t, 1, &deep, deep.depth_ns, clocks_us[_i]), 0);
	ck_assert_uint_gt(tally_take(t, 1, &deep, deep.depth_ns, clocks_us[_i]), 0);
	ck_assert_uint_eq(tally_take(t, 1, &least, least.cost_ns, clocks_us[_i]), 0);
	ck_assert_uint_eq(tally_take(t, 1, &least, least.cost_ns, clocks_us[_i]), NS_PER_S);
}

/* --- several processes ------------------------------------------------------------------------ */

enum { PROCESSES = 4, CLIENTS = 50 };

/* What a process got for each client, out of shared memory. */
static unsigned (*got)[CLIENTS];

static void take_everything(unsigned process)
{
	for (int round = 0; round < 100; round++)
		for (unsigned i = 0; i < CLIENTS; i++)
			got[process][i] += take(1000 + i, 5000000) == 0;
	_exit(0);
}

/* Each client has its burst, whoever of them asks. */
TEST(processes_count_together)
{
	got = mmap(NULL, PROCESSES * sizeof(*got), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(got, MAP_FAILED);
	/* Two that claim a place at the same moment may have one each. */
	for (unsigned i = 0; i < CLIENTS; i++)
		ck_assert_uint_eq(take(1000 + i, 5000000), 0);
	for (unsigned p = 0; p < PROCESSES; p++) {
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			take_everything(p);
	}
	for (unsigned p = 0; p < PROCESSES; p++) {
		int status;

		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		unsigned sum = 1;

		for (unsigned p = 0; p < PROCESSES; p++)
			sum += got[p][i];
		ck_assert_uint_eq(sum, 20);
	}
	munmap(got, PROCESSES * sizeof(*got));
}

/* --- room ------------------------------------------------------------------------------------- */

static uint64_t spread(uint64_t n)
{
	n = (n ^ n >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return n ^ n >> 29;
}

/* Addresses are cheap: a million that ask once, in a second, push nobody out who has asked more. */
TEST(a_million_clients)
{
	enum { MANY = 1000000 };
	ck_assert_uint_le(sizeof(*t->table), (4 << 20) + 32768);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_eq(take_all(spread(i), 1000000), 20);
	for (uint64_t i = 1000; i < MANY; i++)
		ck_assert_uint_eq(take(spread(i), 1000000 + i / 10), 0);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_le(take_all(spread(i), 1100000), 10);
	/* And who is quiet for long gives his place to others. */
	for (uint64_t i = MANY; i < MANY + 1000; i++)
		ck_assert_uint_eq(take_all(spread(i), 10000000), 20);
}

/* --- what is held ----------------------------------------------------------------------------- */

enum { SECOND_US = 1000000 };

/* As another process of this server sees it. */
static struct tally other_process(void)
{
	return (struct tally){ .table = t->table, .keys = t->keys };
}

TEST_ROWS(held_by_all_that_live, clocks_us)
{
	uint64_t rule = rate_rule("", "connections-per-client"), now = clocks_us[_i];
	struct tally other = other_process();

	ck_assert(tally_live(t, now) && tally_live(&other, now));
	tally_tell(t, 7, rule, 3, now);
	tally_tell(&other, 7, rule, 2, now);
	tally_tell(&other, 8, rule, 1, now);
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 2);
	ck_assert_uint_eq(tally_others(&other, 7, rule, now), 3);
	ck_assert_uint_eq(tally_others(t, 8, rule, now), 1);
	ck_assert_uint_eq(tally_others(t, 9, rule, now), 0);
	ck_assert_uint_eq(tally_others(t, 7, rule + 1, now), 0);
	tally_tell(&other, 7, rule, 0, now);
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 0);
	tally_tell(&other, 7, rule, 5, now);
	/* It dies, and is not heard of. */
	for (int i = 0; i < 3; i++)
		ck_assert(tally_live(t, now += SECOND_US));
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 5);
	ck_assert(tally_live(t, now += 2 * SECOND_US));
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 0);
	/* It only stood still. */
	ck_assert(tally_live(&other, now));
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 5);
	tally_leave(&other);
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 0);
}

/* Processes come and go for ever, and one that was away for long finds its entry taken. */
TEST(entries_of_processes)
{
	uint64_t rule = rate_rule("", "uploads-per-client"), now = 0;
	struct tally slow = other_process();

	ck_assert(tally_live(&slow, now));
	tally_tell(&slow, 7, rule, 1, now);
	for (int i = 0; i < 3000; i++) {
		struct tally one = other_process();

		now += SECOND_US / 10;
		ck_assert(tally_live(&one, now));
		tally_tell(&one, 7, rule, 1, now);
	}
	ck_assert(tally_live(t, now));
	ck_assert_uint_le(tally_others(t, 7, rule, now), 41);
	ck_assert_uint_ge(tally_others(t, 7, rule, now), 39);
	now += 20 * SECOND_US;
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 0);
	ck_assert(tally_live(&slow, now));
	ck_assert_uint_eq(tally_others(t, 7, rule, now), 1);
}

/* More than there can be: they tell nothing, and count what they see. */
TEST(too_many_processes)
{
	enum { MOST = 1024 };
	static struct tally all[MOST];
	uint64_t rule = rate_rule("", "a");

	for (unsigned i = 0; i < MOST; i++) {
		all[i] = other_process();
		ck_assert(tally_live(&all[i], 0));
	}
	ck_assert(!tally_live(t, 0));
	tally_tell(&all[5], 7, rule, 4, 0);
	ck_assert_uint_eq(tally_others(t, 7, rule, 0), 4);
	tally_leave(&all[9]);
	ck_assert(tally_live(t, 0));
}

TEST(held_survives_a_million_clients)
{
	uint64_t rule = rate_rule("", "a");
	struct tally other = other_process();

	ck_assert(tally_live(&other, 0));
	for (uint64_t i = 0; i < 1000; i++)
		tally_tell(&other, spread(i), rule, 1, 0);
	for (uint64_t i = 0; i < 1000000; i++)
		take(spread(1000000 + i), i);
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(tally_others(t, spread(i), rule, 0), 1);
}

/* --- hostile memory --------------------------------------------------------------------------- */

static void fill_with(uint64_t (*word)(uint64_t i, uint64_t was))
{
	uint64_t *p = (uint64_t *)t->table;

	for (uint64_t i = 0; i < sizeof(*t->table) / sizeof(*p); i++)
		p[i] = word(i, p[i]);
}

static uint64_t any(uint64_t i, uint64_t was)
{
	return spread(i) ^ was;
}
static uint64_t ones(uint64_t i, uint64_t was)
{
	return i | was | UINT64_MAX;
}
static uint64_t seven(uint64_t i, uint64_t was)
{
	return i + was < i ? 0 : 7;
}
static uint64_t small(uint64_t i, uint64_t was)
{
	return (i + was) % 3;
}
static uint64_t (*const words[])(uint64_t i, uint64_t was) = { any, ones, seven, small };

/* The times of places that were written between 5 and 6 s. */
static uint64_t late(uint64_t i, uint64_t was)
{
	return was >= UINT64_C(5000000000) && was < UINT64_C(6000000000) ? UINT64_MAX - 5 : was;
}

/* Whatever is there, nobody waits for longer than the rate says, and after that it counts again. */
TEST_EACH(nonsense_in_the_table, 4)
{
	uint64_t now = UINT64_C(1) << 40;

	fill_with(words[_i]);
	for (uint64_t mark = 0; mark < 1000; mark++)
		ck_assert_uint_le(take(mark, now), rate.depth_ns);
	now += rate.depth_ns / 1000;
	for (uint64_t mark = 0; mark < 1000; mark++) {
		unsigned n = take_all(mark, now);

		ck_assert_uint_ge(n, 19);
		ck_assert_uint_le(n, 20);
	}
	/* Entries of processes, too: as many as there can be are looked at. */
	for (uint64_t mark = 0; mark < 10; mark++)
		tally_others(t, mark, rate.rule, now);
	tally_live(t, now);
	tally_tell(t, 7, rate.rule, 3, now);
	tally_others(t, 7, rate.rule, now);
}

/* A client has his place, and a process writes that he is paid up to the end of time. */
TEST(nonsense_in_a_place)
{
	ck_assert_uint_eq(take(7, 5000000), 0);
	fill_with(late);
	ck_assert_uint_eq(take(7, 5000000), rate.cost_ns);
	ck_assert_uint_eq(take_all(7, 5000000 + rate.depth_ns / 1000), 20);
}
