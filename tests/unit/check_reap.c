/* check_reap: the respawn policy under a clock of our own, and wait(2) statuses in words. */
#include "master/child.h"

#include "unit.h"

static const struct reap_policy policy = { .first = 100, .most = 10000 };

/* Deaths at these times (ms) are answered with these delays. */
static const struct {
	const char *name;
	unsigned n;
	uint64_t at[12];
	unsigned delay[12];
} histories[] = {
	{ "the first three cost nothing", 3, { 1000, 1001, 1002 }, { 0, 0, 0 } },
	{ "the fourth within a minute waits", 4, { 1000, 2000, 3000, 60999 }, { 0, 0, 0, 100 } },
	{ "a minute after the first it is forgotten", 4, { 1000, 2000, 3000, 61000 },
		{ 0, 0, 0, 0 } },
	{ "one every 21 s is no loop", 6, { 0, 21000, 42000, 63000, 84000, 105000 }, { 0 } },
	{ "doubling to ten seconds", 12,
		{ 0, 1, 2, 3, 104, 305, 706, 1507, 3108, 6309, 12710, 22711 },
		{ 0, 0, 0, 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000 } },
	{ "quiet starts anew", 9, { 0, 1, 2, 3, 104, 100000, 100001, 100002, 100003 },
		{ 0, 0, 0, 100, 200, 0, 0, 0, 100 } },
	{ "time zero", 4, { 0, 0, 0, 0 }, { 0, 0, 0, 100 } },
};

TEST_ROWS(history, histories)
{
	struct reap r = { 0 };

	for (unsigned i = 0; i < histories[_i].n; i++) {
		unsigned got = reap_delay(&r, &policy, histories[_i].at[i]);

		ck_assert_msg(got == histories[_i].delay[i], "%s: death %u: %u, not %u",
			histories[_i].name, i, got, histories[_i].delay[i]);
	}
}

/* Whatever happens, nobody waits for more than the limit, and a crash loop stays throttled. */
TEST(crash_loop)
{
	struct reap r = { 0 };
	uint64_t now = 5;
	unsigned n = 0;

	while (now < 600000) {
		unsigned delay = reap_delay(&r, &policy, now);

		ck_assert_uint_le(delay, policy.most);
		now += delay + 1;
		n++;
	}
	ck_assert_uint_lt(n, 80);
}

TEST(words)
{
	char buf[128];

	reap_describe(9, buf, sizeof(buf));
	ck_assert_str_eq(buf, "killed by signal 9 (Killed)");
	reap_describe(3 << 8, buf, sizeof(buf));
	ck_assert_str_eq(buf, "exited with status 3");
	reap_describe(SIGSEGV | 0x80, buf, sizeof(buf));
	ck_assert_ptr_nonnull(strstr(buf, "core dumped"));
	ck_assert(reap_is_crash(SIGSEGV));
	ck_assert(reap_is_crash(SIGABRT));
	ck_assert(!reap_is_crash(SIGKILL));
	ck_assert(!reap_is_crash(1 << 8));
	ck_assert(!reap_is_crash(0));
}
