/* check_admission: how many connections a client has, here and in another process, and how often it
 * may come. */
#include "session/sessions.h"

#include "base/clock.h"
#include "base/counters.h"
#include "loop_unit.h"
#include "share/tally.h"

enum { MANY = 20 };

static struct sessions all;
static struct sites sites;
static struct http_env env;
static struct rate rate;
static struct tally *tally, other; /* of this process, and of another one */
static struct session sessions[MANY];

UNIT_SETUP(setup)
{
	clock_set(5000000, (struct timespec){ 0 });
	sessions_init(&all, &loop);
	tally = tally_new();
	ck_assert_ptr_nonnull(tally);
	holding_init(&all.connections, ACCOUNT_CONNECTIONS, tally, "connections-per-client", 0);
	other = (struct tally){ .table = tally->table, .keys = tally->keys };
	ck_assert(tally_live(tally, clock_us()) && tally_live(&other, clock_us()));
	all.accounts = accounts_new(64, &tally->keys, 64, NULL);
	sites = (struct sites){ 0 };
	env = (struct http_env){ .sites = &sites, .tally = tally };
}

UNIT_TEARDOWN(teardown)
{
	for (int i = 0; i < MANY; i++)
		if (sessions[i].all != NULL) {
			session_fini(&sessions[i]);
			sessions[i].all = NULL;
		}
	ck_assert_uint_eq(all.connections.budget.held, 0);
	sessions_fini(&all);
	accounts_free(&all.accounts);
	tally_free(&tally);
}

static bool come(int i, const char *from, bool trusted)
{
	struct http_conn conn = { .trusted = trusted };

	ck_assert_ptr_null(addr_parse(from, &conn.peer));
	session_init(&sessions[i], &all, &conn);
	return admission_ask(&sessions[i], &env);
}

static void leave(int i)
{
	session_fini(&sessions[i]);
	sessions[i].all = NULL;
}

TEST(number)
{
	int64_t before = counters_get(counters, COUNTER_limit_client_connections);

	all.connections.max = 3;
	for (int i = 0; i < 3; i++)
		ck_assert(come(i, "192.0.2.1:1", false));
	ck_assert(!come(3, "192.0.2.1:2", false));
	ck_assert_int_eq(counters_get(counters, COUNTER_limit_client_connections), before + 1);
	leave(3);
	ck_assert(come(4, "192.0.2.2:1", false));
	ck_assert(come(5, "192.0.2.1:3", true));
	leave(0);
	ck_assert(come(6, "192.0.2.1:4", false));
	ck_assert(!come(7, "192.0.2.1:5", false));
	for (int i = 1; i < 8; i++)
		if (sessions[i].all != NULL)
			leave(i);
	ck_assert(come(0, "192.0.2.1:1", false));
}

/* Another process has some of the same client, until it is not heard of any more. */
TEST(number_over_processes)
{
	struct addr a;
	bool exempt;
	uint64_t mark;

	all.connections.max = 3;
	ck_assert_ptr_null(addr_parse("192.0.2.1:1", &a));
	mark = account_mark(all.accounts, &a, &exempt);
	tally_tell(&other, mark, all.connections.rule, 2, clock_us());
	ck_assert(come(0, "192.0.2.1:1", false));
	ck_assert_uint_eq(tally_others(&other, mark, all.connections.rule, clock_us()), 1);
	ck_assert(!come(1, "192.0.2.1:1", false));
	leave(1);
	ck_assert(come(2, "192.0.2.2:1", false));
	clock_set(60000000, (struct timespec){ 0 });
	ck_assert(tally_live(tally, clock_us()));
	ck_assert(come(3, "192.0.2.1:1", false));
	leave(0);
	leave(3);
	ck_assert_uint_eq(tally_others(&other, mark, all.connections.rule, clock_us()), 0);
}

TEST(by_rate)
{
	int64_t before = counters_get(counters, COUNTER_limit_new_connections);

	rate = rate_of(2, 2, "", "new-connections-per-second");
	sites.connections = &rate;
	for (int i = 0; i < 2; i++) {
		ck_assert(come(i, "192.0.2.1:1", false));
		leave(i);
	}
	ck_assert(!come(2, "192.0.2.1:1", false));
	ck_assert_int_eq(counters_get(counters, COUNTER_limit_new_connections), before + 1);
	ck_assert(come(3, "192.0.2.2:1", false));
	clock_set(5500000, (struct timespec){ 0 });
	ck_assert(come(4, "192.0.2.1:1", false));
	ck_assert(!come(5, "192.0.2.1:1", false));
}

TEST(dry_run)
{
	int64_t before = counters_get(counters, COUNTER_limit_client_connections);

	all.connections.max = 1;
	sites.dry_run = true;
	for (int i = 0; i < 3; i++)
		ck_assert(come(i, "192.0.2.1:1", false));
	ck_assert_int_eq(counters_get(counters, COUNTER_limit_client_connections), before + 2);
}

TEST(whom_it_does_not_hold_for)
{
	struct session *s = &sessions[0];

	all.connections.max = 1;
	for (int i = 1; i < 3; i++) {
		session_init(&sessions[i], &all, &(struct http_conn){ .admin = true });
		ck_assert(admission_ask(&sessions[i], &env));
	}
	ck_assert(come(0, "192.0.2.1:1", false));
	s->http.account->exempt = true;
	for (int i = 3; i < 6; i++)
		ck_assert(come(i, "192.0.2.1:1", false));
	s->http.account->exempt = false;
	ck_assert(!come(6, "192.0.2.1:1", false));
	env.tally = NULL;
	ck_assert(come(7, "192.0.2.1:1", false));
}
