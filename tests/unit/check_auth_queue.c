/*
 * check_auth_queue: verdicts and how long they hold, one check for all who ask the same, the
 * bounds, and that whoever goes away is not told. Time stands still but where a test moves it
 * (linked with
 * --wrap).
 */
#include "auth/auth_check.h"

#include <crypt.h>
#include <time.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "loop_unit.h"
#include "states_unit.h"
#include "tree_unit.h"

enum { ASKERS = 200, RUNNING = 2, IN_LINE = 64 };

struct asker {
	struct auth_wait wait;
	int told;
	enum auth_verdict verdict;
};

static struct offload *offload;
static struct auth_queue *queue;
static struct accounts *accounts;
static struct auth auth;
static char file[sizeof(tree) + 6];
static struct asker askers[ASKERS];
static uint64_t now_ms;
static unsigned peer;  /* whose question the next one is */
static bool same_peer; /* … and those behind it */

void __wrap_clock_update(void);

void __wrap_clock_update(void)
{
}

static void at(uint64_t ms)
{
	now_ms = ms;
	clock_set(ms * 1000, (struct timespec){ .tv_sec = 1 });
}

static void write_file(const char *name, const char *password)
{
	char salt[CRYPT_GENSALT_OUTPUT_SIZE], line[CRYPT_OUTPUT_SIZE + 40];

	ck_assert_ptr_nonnull(crypt_gensalt_rn("$2b$", 4, NULL, 0, salt, sizeof(salt)));
	snprintf(line, sizeof(line), "%s:%s\n", name, crypt(password, salt));
	tree_text("users", line);
}

static void told(struct auth_wait *wait, enum auth_verdict verdict)
{
	struct asker *a = LIST_ENTRY(wait, struct asker, wait);

	ck_assert_ptr_null(wait->check);
	a->told++;
	a->verdict = verdict;
}

UNIT_SETUP(setup)
{
	snprintf(file, sizeof(file), "%s/users", tree);
	write_file("anna", "secret");
	offload = offload_new(&loop, 4);
	queue = auth_queue_new(&loop, offload);
	ck_assert_ptr_nonnull(queue);
	accounts = accounts_new(ASKERS * 2, &(struct account_keys){ 0 }, 64, NULL);
	ck_assert_ptr_nonnull(accounts);
	auth = (struct auth){ .file = file };
	memset(askers, 0, sizeof(askers));
	for (int i = 0; i < ASKERS; i++)
		askers[i].wait.fn = told;
	at(1000000);
	peer = 0;
	same_peer = false;
}

UNIT_TEARDOWN(teardown)
{
	offload_free(&offload);
	auth_queue_free(&queue);
	accounts_free(&accounts);
	ck_assert_int_eq(counters->offload_jobs, 0);
}

static enum auth_verdict ask(struct asker *a, const char *user, const char *password)
{
	struct addr from = { .in = { .sin_family = AF_INET } };
	struct auth_basic who = { 0 };
	struct account *account;
	enum auth_verdict v;

	peer += !same_peer;
	from.in.sin_addr.s_addr = htonl(0x0a000000 + peer);

	snprintf(who.bytes, sizeof(who.bytes), "%s%c%s", user, 0, password);
	who.user = slice_of(who.bytes, strlen(user));
	who.password = slice_of(who.bytes + strlen(user) + 1, strlen(password));
	account = account_open(accounts, &from);
	v = auth_ask(queue, &auth, &who, account, &a->wait);
	account_close(&account);
	return v;
}

static void auth_cache_come(void)
{
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
}

/* Asks, and waits for the verdict. */
static enum auth_verdict verdict(const char *user, const char *password, bool *at_once)
{
	struct asker *a = &askers[0];
	enum auth_verdict v = ask(a, user, password);
	int before = a->told;

	*at_once = v != AUTH_LATER;
	if (*at_once)
		return v;
	auth_cache_come();
	ck_assert_int_eq(a->told, before + 1);
	return a->verdict;
}

TEST_EACH(remembered, 2)
{
	const char *password = _i == 0 ? "secret" : "wrong";
	enum auth_verdict expected = _i == 0 ? AUTH_PASSED : AUTH_REFUSED;
	bool at_once;

	ck_assert_int_eq(verdict("anna", password, &at_once), expected);
	ck_assert(!at_once);
	ck_assert_int_eq(verdict("anna", password, &at_once), expected);
	ck_assert(at_once);
	/* What is near it is something else. */
	ck_assert_int_eq(verdict("anna", "secre", &at_once), AUTH_REFUSED);
	ck_assert(!at_once);
	ck_assert_int_eq(verdict("ann", "asecret", &at_once), AUTH_REFUSED);
	ck_assert(!at_once);
}

/* A file under another name is another file. */
TEST(of_one_file_alone)
{
	bool at_once;

	ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_PASSED);
	auth.file = "/dev/null/x";
	ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_BROKEN);
	ck_assert(!at_once);
}

/* After a second the file is looked at, and if it changed, read. */
TEST(a_change_counts)
{
	bool at_once;

	ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_PASSED);
	write_file("anna", "changed");
	at(now_ms + 999);
	ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_PASSED);
	ck_assert(at_once);
	at(now_ms + 1);
	ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_REFUSED);
	ck_assert(!at_once);
	ck_assert_int_eq(verdict("anna", "changed", &at_once), AUTH_PASSED);
	at(now_ms + 1000);
	unlink(file);
	ck_assert_int_eq(verdict("anna", "changed", &at_once), AUTH_BROKEN);
}

/* Processor time of this process, in microseconds. */
static uint64_t spent(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* A hash of 50 ms is computed once in ten seconds, the file is looked at once a second. */
TEST(looking_is_not_reading)
{
	char salt[CRYPT_GENSALT_OUTPUT_SIZE], line[CRYPT_OUTPUT_SIZE + 40];
	uint64_t begin, slow;
	bool at_once;
	int fd = open(file, O_WRONLY | O_TRUNC);

	crypt_gensalt_rn("$2b$", 10, NULL, 0, salt, sizeof(salt));
	snprintf(line, sizeof(line), "anna:%s\n", crypt("secret", salt));
	ck_assert_int_gt(write(fd, line, strlen(line)), 0);
	close(fd);
	begin = spent();
	ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_PASSED);
	slow = spent() - begin;
	begin = spent();
	for (int i = 0; i < 9; i++) {
		at(now_ms + 1000);
		ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_PASSED);
		ck_assert(!at_once);
	}
	ck_assert_uint_lt(spent() - begin, slow / 2);
	/* Ten seconds are over, however often it was looked at. */
	at(now_ms + 1000);
	begin = spent();
	ck_assert_int_eq(verdict("anna", "secret", &at_once), AUTH_PASSED);
	ck_assert_uint_gt(
		spent() - begin, slow / 5); /* a core may have been shared then, and not now */
}

/* The line that says so, once for each state of the file. */
TEST(hashes_of_others)
{
	char text[4096];
	int fds[2], fd, lines = 0;
	ssize_t n;
	bool at_once;

	ck_assert_int_eq(pipe2(fds, O_NONBLOCK), 0);
	log_to(fds[1]);
	for (int state = 0; state < 2; state++) {
		fd = open(file, O_WRONLY | O_TRUNC);
		ck_assert_int_gt(dprintf(fd, "anna:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=%s\n",
					 state == 0 ? "" : ":changed"),
			0);
		close(fd);
		for (int i = 0; i < 3; i++) {
			char password[32];

			snprintf(password, sizeof(password), "%d.%d", state, i);
			ck_assert_int_eq(verdict("anna", password, &at_once), AUTH_REFUSED);
		}
	}
	log_to(STDERR_FILENO);
	n = read(fds[0], text, sizeof(text) - 1);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	for (const char *p = text; (p = strstr(p, "refusing users with")) != NULL; p++)
		lines++;
	ck_assert_int_eq(lines, 2);
	ck_assert_ptr_nonnull(strstr(text, file));
	close(fds[0]);
	close(fds[1]);
}

TEST(one_check_for_all)
{
	for (int i = 0; i < ASKERS; i++)
		ck_assert_int_eq(ask(&askers[i], "anna", "secret"), AUTH_LATER);
	ck_assert_uint_eq(offload_pending(offload), 1);
	auth_forget(&askers[7].wait);
	auth_forget(&askers[7].wait); /* harmless */
	auth_cache_come();
	for (int i = 0; i < ASKERS; i++)
		ck_assert_int_eq(askers[i].told, i != 7);
	ck_assert_int_eq(askers[0].verdict, AUTH_PASSED);
}

TEST(bounds)
{
	char password[20];
	enum auth_verdict v;

	for (int i = 0; i < ASKERS; i++) {
		snprintf(password, sizeof(password), "p%d", i);
		v = ask(&askers[i], "anna", password);
		ck_assert_int_eq(v, i < RUNNING + IN_LINE ? AUTH_LATER : AUTH_BUSY);
		ck_assert_uint_le(offload_pending(offload), RUNNING);
	}
	/* Who goes away makes room. */
	auth_forget(&askers[RUNNING + 5].wait);
	ck_assert_int_eq(ask(&askers[150], "anna", "secret"), AUTH_LATER);
	ck_assert_int_eq(ask(&askers[151], "anna", "other"), AUTH_BUSY);
	/* … and who asks the same as somebody in line needs none. */
	ck_assert_int_eq(ask(&askers[152], "anna", "secret"), AUTH_LATER);
	while (offload_pending(offload) > 0) {
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
		ck_assert_uint_le(offload_pending(offload), RUNNING);
	}
	for (int i = 0; i < RUNNING + IN_LINE; i++)
		ck_assert_int_eq(askers[i].told, i != RUNNING + 5);
	ck_assert_int_eq(askers[3].verdict, AUTH_REFUSED);
	ck_assert_int_eq(askers[150].verdict, AUTH_PASSED);
	ck_assert_int_eq(askers[152].verdict, AUTH_PASSED);
}

static void guess_of(struct asker *a, const char *user, const char *password)
{
	ck_assert_int_eq(ask(a, user, password), AUTH_LATER);
}

static void guess(struct asker *a, const char *password)
{
	guess_of(a, "anna", password);
}

/* Nine guesses of one peer: one is checked, eight wait, and nobody else waits behind them. */
TEST(a_share_each)
{
	char password[20];

	same_peer = true;
	for (int i = 0; i < 20; i++) {
		snprintf(password, sizeof(password), "p%d", i);
		ck_assert_int_eq(ask(&askers[i], "anna", password), i < 9 ? AUTH_LATER : AUTH_BUSY);
		ck_assert_uint_eq(offload_pending(offload), 1);
	}
	peer++;
	guess(&askers[20], "secret");
	ck_assert_uint_eq(offload_pending(offload), 2);
	auth_cache_come();
	ck_assert_int_eq(askers[20].verdict, AUTH_PASSED);
	ck_assert_int_eq(askers[20].told, 1);
	ck_assert_int_eq(askers[1].told, 0);
	for (int i = 0; i < 9; i++)
		auth_forget(&askers[i].wait);
}

/* Each wrong guess doubles the time to the next check, of that peer alone, up to four seconds. */
TEST(guesses_cost_time)
{
	static const unsigned delays[] = { 100, 200, 400, 800, 1600, 3200, 4000, 4000 };
	char password[20];

	same_peer = true;
	guess(&askers[0], "wrong");
	auth_cache_come();
	for (unsigned i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		snprintf(password, sizeof(password), "p%u", i);
		guess(&askers[1], password);
		at(now_ms + delays[i] - 1);
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
		ck_assert_uint_eq(offload_pending(offload), 0);
		peer++;
		ck_assert_int_ne(ask(&askers[2], "anna", "secret"), AUTH_BUSY);
		auth_cache_come();
		ck_assert_int_eq(askers[1].told, (int)i);
		peer--;
		at(now_ms + 1);
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
		ck_assert_uint_eq(offload_pending(offload), 1);
		auth_cache_come();
		ck_assert_int_eq(askers[1].told, (int)i + 1);
		ck_assert_int_eq(askers[1].verdict, AUTH_REFUSED);
	}
	/* A minute later all is forgiven. */
	at(now_ms + 60000);
	guess(&askers[1], "a");
	auth_cache_come();
	guess(&askers[1], "b");
	at(now_ms + 100);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_uint_eq(offload_pending(offload), 1);
	auth_cache_come();
}

/* Guesses at one user that are in line already: when the first is wrong, one waits for the delay,
 * the others are told of it. */
TEST(guesses_in_line)
{
	char password[20];

	same_peer = true;
	for (int i = 0; i < 9; i++) {
		snprintf(password, sizeof(password), "p%d", i);
		guess(&askers[i], password);
	}
	auth_cache_come();
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	for (int i = 0; i < 9; i++) {
		ck_assert_int_eq(askers[i].told, i != 1);
		if (i != 1)
			ck_assert_int_eq(askers[i].verdict, i == 0 ? AUTH_REFUSED : AUTH_DELAYED);
	}
	ck_assert_uint_eq(askers[8].wait.retry_ms, 100);
	ck_assert_int_eq(ask(&askers[9], "anna", "p9"), AUTH_DELAYED);
	/* Another user's does not wait. */
	guess_of(&askers[9], "bob", "p9");
	auth_cache_come();
	ck_assert_int_eq(askers[9].verdict, AUTH_REFUSED);
	auth_forget(&askers[1].wait);
	/* What was right ends the delay. */
	at(now_ms + 100);
	guess(&askers[10], "secret");
	auth_cache_come();
	guess(&askers[11], "p");
	auth_cache_come();
}

/* Who guesses at more users than are counted apart has delays all the same. */
TEST(many_users_of_one_client)
{
	struct auth_client c = { 0 };
	unsigned ndelays = 0;

	for (uint32_t user = 0; user < 4 * AUTH_GUESSES; user++) {
		if (auth_client_delay(&c, user) > 0)
			ndelays++;
		else
			auth_client_wrong(&c, user);
	}
	ck_assert_uint_eq(ndelays, 3 * AUTH_GUESSES);
	/* … and a right one of another user does not end them. */
	auth_client_right(&c, 5 * AUTH_GUESSES);
	ck_assert_uint_eq(auth_client_failures(&c, 0), 1);
	auth_client_right(&c, 0);
	ck_assert_uint_eq(auth_client_failures(&c, 0), 0);
}

/* The line is full: who failed most leaves it for one who failed less, then those who have most. */
TEST(who_leaves_a_full_line)
{
	char password[20];
	int i = 0;

	same_peer = true;
	guess(&askers[i], "wrong");
	auth_cache_come();
	at(now_ms + 100);
	/* Two that run, and those of the peer that guessed wrong. */
	peer = 1;
	guess(&askers[i++], "q0");
	peer = 2;
	guess(&askers[i++], "q1");
	peer = 0;
	guess(&askers[i++], "q2");
	for (unsigned client = 1; i < RUNNING + IN_LINE; client++)
		for (int k = 0; k < 8 && i < RUNNING + IN_LINE; k++) {
			peer = 100 + client;
			snprintf(password, sizeof(password), "p%d", i);
			guess(&askers[i++], password);
		}
	ck_assert_int_eq(askers[2].wait.check->state, AUTH_CHECK_LINE);
	peer = 200;
	guess(&askers[i++], "r0");
	ck_assert_int_eq(askers[2].wait.check->state, AUTH_CHECK_END);
	peer = 201;
	guess(&askers[i++], "r1");
	ck_assert_int_eq(askers[RUNNING + 8].wait.check->state, AUTH_CHECK_END);
	ck_assert_int_eq(askers[RUNNING + 9].wait.check->state, AUTH_CHECK_LINE);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert(askers[2].told == 1 && askers[2].verdict == AUTH_BUSY);
	for (int k = 0; k < i; k++)
		auth_forget(&askers[k].wait);
	auth_cache_come();
}

/* Who is known needs no place in line, not even to see whether the file changed. */
TEST(the_known_pass_by)
{
	char password[20];
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	wall.tv_sec += 10;
	clock_set(now_ms * 1000, wall);
	guess(&askers[0], "secret");
	auth_cache_come();
	for (int i = 0; i < RUNNING + IN_LINE; i++) {
		snprintf(password, sizeof(password), "p%d", i);
		guess(&askers[1 + i], password);
	}
	ck_assert_int_eq(ask(&askers[100], "anna", "other"), AUTH_BUSY);
	/* It holds longer than ten seconds, too, while it is used and the file is old. */
	for (int i = 1; i <= 30; i++) {
		at(now_ms + 1000);
		ck_assert_int_eq(ask(&askers[101], "anna", "secret"), AUTH_LATER);
		while (askers[101].told < i)
			ck_assert_int_eq(loop_turn(&loop, 10000), 0);
		ck_assert_int_eq(askers[101].verdict, AUTH_PASSED);
		if (i == 1)
			ck_assert_int_eq(askers[RUNNING + IN_LINE].told, 0);
	}
	auth_cache_come();
	/* … and for an hour without. */
	at(now_ms + VERDICT_RIGHT_MS - 1);
	guess(&askers[102], "secret");
	ck_assert_uint_eq(counters->offload_jobs, 1);
	auth_cache_come();
	ck_assert_int_eq(askers[102].verdict, AUTH_PASSED);
	/* A file that changed is read, before what is in line. */
	for (int i = 0; i < RUNNING + IN_LINE; i++) {
		snprintf(password, sizeof(password), "p%d", i);
		guess(&askers[1 + i], password);
	}
	write_file("anna", "changed");
	at(now_ms + 1000);
	guess(&askers[103], "secret");
	while (askers[103].told == 0)
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
	ck_assert_int_eq(askers[103].verdict, AUTH_REFUSED);
	ck_assert_int_eq(askers[RUNNING + IN_LINE].told, 1);
	auth_cache_come();
	at(now_ms + VERDICT_RIGHT_MS);
	ck_assert_int_eq(ask(&askers[104], "anna", "secret"), AUTH_LATER);
	auth_cache_come();
}

TEST(states)
{
	states_unit_walk(&auth_check_states,
		"NEW>LOOK NEW>LINE NEW>DELAY LOOK>FIRST LOOK>LINE LOOK>DELAY LOOK>END FIRST>RUN "
		"FIRST>END LINE>RUN LINE>DELAY LINE>END DELAY>LINE DELAY>END RUN>END",
		NULL);
}

/* All go away, in line or not: nobody is told, nothing leaks, and what ran is remembered. */
TEST(all_go_away)
{
	char password[20];

	for (int i = 0; i < 20; i++) {
		snprintf(password, sizeof(password), i == 0 ? "secret" : "p%d", i);
		ck_assert_int_eq(ask(&askers[i], "anna", password), AUTH_LATER);
	}
	for (int i = 0; i < 20; i++)
		auth_forget(&askers[i].wait);
	ck_assert_uint_le(offload_pending(offload), RUNNING);
	auth_cache_come();
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(askers[i].told, 0);
	ck_assert_int_eq(ask(&askers[0], "anna", "secret"), AUTH_PASSED);
}

/* The worker's end: what runs is waited for, nobody is left to be told. */
TEST(the_end)
{
	ck_assert_int_eq(ask(&askers[0], "anna", "secret"), AUTH_LATER);
	auth_forget(&askers[0].wait);
	offload_free(&offload);
	auth_queue_free(&queue);
	ck_assert_int_eq(askers[0].told, 0);
}

/* --- the table -------------------------------------------------------------------------------- */

static struct auth_cache table;

static struct verdict verdict_of(unsigned set, unsigned i, bool passed, uint64_t expires)
{
	struct verdict v = { .passed = passed, .expires_ms = expires };

	v.key[0] = (uint8_t)set;
	memcpy(v.key + 1, &i, sizeof(i));
	return v;
}

TEST(wrong_ones_make_room)
{
	struct verdict right = verdict_of(3, 1000, true, 50), v;

	memset(&table, 0, sizeof(table));
	auth_cache_put(&table, &right, 10);
	for (unsigned i = 0; i < 100; i++) {
		v = verdict_of(3, i, false, 100 + i);
		auth_cache_put(&table, &v, 10);
		ck_assert_ptr_nonnull(auth_cache_find(&table, v.key, 10));
		ck_assert_ptr_nonnull(auth_cache_find(&table, right.key, 10));
	}
	ck_assert_ptr_nonnull(auth_cache_find(&table, right.key, 49));
	ck_assert_ptr_null(auth_cache_find(&table, right.key, 50));
	/* What is over goes first; the last two wrong ones stay. */
	v = verdict_of(3, 100, false, 300);
	auth_cache_put(&table, &v, 60);
	v = verdict_of(3, 99, false, 0);
	ck_assert_ptr_nonnull(auth_cache_find(&table, v.key, 60));
	v = verdict_of(3, 98, false, 0);
	ck_assert_ptr_nonnull(auth_cache_find(&table, v.key, 60));
}

TEST(one_place_each)
{
	struct verdict v = verdict_of(5, 1, false, 100), other = verdict_of(5, 2, true, 100);

	memset(&table, 0, sizeof(table));
	auth_cache_put(&table, &other, 10);
	auth_cache_put(&table, &v, 10);
	v.passed = true;
	auth_cache_put(&table, &v, 10);
	ck_assert(auth_cache_find(&table, v.key, 10)->passed);
	memset(v.key, 0, sizeof(v.key));
	ck_assert_ptr_null(auth_cache_find(&table, v.key, 10));
	v = verdict_of(5, 1, false, 100);
	auth_cache_find(&table, v.key, 10)->expires_ms = 0;
	ck_assert_ptr_null(auth_cache_find(&table, v.key, 10)); /* there was one */
}
