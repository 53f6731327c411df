/*
 * check_line: whose turn is next among clients and their connections, what each may have of the
 * budget, who pays, and that a line leaves nothing behind.
 */
#include "share/line.h"

#include "base/clock.h"
#include "unit.h"

enum { CLIENTS = 40, TURNS = 400, CONNECTIONS = 8 };

static struct accounts *all;
static struct account *clients[CLIENTS];
static struct line line;
static struct line_turn turns[TURNS];
static struct line_group connections[CONNECTIONS];
static enum line_answer answers[TURNS];
static unsigned asked;

static void at(uint64_t ms)
{
	clock_set(ms * 1000, (struct timespec){ 0 });
}

UNIT_SETUP(setup)
{
	all = accounts_new(CLIENTS, &(struct account_keys){ 0 }, 64, NULL);
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct addr a = { .in.sin_family = AF_INET, .in.sin_addr.s_addr = i };

		clients[i] = account_open(all, &a);
	}
	for (unsigned i = 0; i < TURNS; i++) {
		turns[i] = (struct line_turn){ .account = NULL };
		list_init(&turns[i].node);
		answers[i] = LINE_GO;
	}
	for (unsigned i = 0; i < CONNECTIONS; i++)
		line_group_init(&connections[i]);
	asked = 0;
	at(1000);
	line_init(&line, ACCOUNT_THREADS, 4, 1, 1);
}

UNIT_TEARDOWN(teardown)
{
	for (unsigned i = 0; i < TURNS; i++) {
		line_leave(&line, &turns[i]);
		if (turns[i].held > 0)
			line_gave(&line, &turns[i], turns[i].held);
		ck_assert(!list_linked(&turns[i].node));
	}
	ck_assert(list_empty(&line.poor) && list_empty(&line.others) && list_empty(&line.lent));
	ck_assert_uint_eq(line.budget.held + line.nwaiting, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		account_close(&clients[i]);
	accounts_free(&all);
}

static void join(unsigned turn, unsigned client)
{
	line_join(&line, &turns[turn], clients[client], NULL);
}

static int next(void)
{
	struct line_turn *t = line_next(&line);
	struct account *held;

	if (t == NULL)
		return -1;
	held = t->account;
	line_took(&line, t, 1);
	account_close(&held);
	return (int)(t - turns);
}

static void gave(unsigned turn)
{
	line_gave(&line, &turns[turn], 1);
}

TEST(clients_take_turns)
{
	static const unsigned of[] = { 0, 0, 0, 0, 1, 1, 2 };
	static const int order[] = { 0, 4, 6, 1, 5, 2, 3 };

	for (unsigned i = 0; i < 7; i++)
		join(i, of[i]);
	ck_assert_uint_eq(line.nwaiting, 7);
	ck_assert_uint_eq(line_waiting(&line, clients[0]), 4);
	for (unsigned i = 0; i < 7; i++) {
		ck_assert_int_eq(next(), order[i]);
		gave((unsigned)order[i]);
	}
	ck_assert_int_eq(next(), -1);
}

/* One client has half of what is left, and one that comes later finds some. */
TEST(shares)
{
	for (unsigned i = 0; i < 4; i++)
		join(i, 0);
	ck_assert(next() == 0 && next() == 1 && next() == -1);
	ck_assert(!line_is_free(&line, clients[0]) && line_is_free(&line, clients[1]));
	for (unsigned i = 4; i < 8; i++)
		join(i, 1);
	ck_assert(next() == 4 && next() == -1);
	join(8, 2);
	ck_assert(next() == 8 && next() == -1);
	ck_assert_uint_eq(line.budget.held, line.budget.max);
}

/* A least share: however many one client has, another's first turn is the next. */
TEST(who_has_none_is_first)
{
	line.budget.max = 100;
	for (unsigned i = 0; i < 30; i++)
		join(i, i % 3);
	for (unsigned i = 0; i < 9; i++)
		ck_assert_int_eq(next(), (int)i);
	join(30, 5);
	ck_assert_int_eq(next(), 30);
	ck_assert_int_eq(next(), 9);
}

/* Where turns count, who had none yet is before who had one. */
TEST(by_turn)
{
	line.by_turn = true;
	for (unsigned i = 0; i < 3; i++) {
		join(i, i);
		ck_assert_int_eq(next(), (int)i);
		gave(i);
	}
	join(2, 2);
	join(1, 1);
	join(0, 0);
	join(3, 3);
	for (int i = 0; i < 4; i++) {
		static const int order[] = { 3, 0, 1, 2 };

		ck_assert_int_eq(next(), order[i]);
		gave((unsigned)order[i]);
	}
}

/* Nobody's turns are those of one client, whom no share bounds. */
TEST(nobodys)
{
	for (unsigned i = 0; i < 6; i++)
		line_join(&line, &turns[i], NULL, NULL);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(next(), i);
	ck_assert_int_eq(next(), -1);
	ck_assert(!line_is_free(&line, NULL));
}

/* The account stays open while its client waits, or has some. */
TEST(accounts_stay)
{
	join(0, 0);
	join(1, 0);
	account_close(&clients[0]);
	ck_assert_uint_eq(accounts_count(all), CLIENTS);
	ck_assert_int_eq(next(), 0);
	line_leave(&line, &turns[1]);
	line_leave(&line, &turns[1]);
	ck_assert_uint_eq(accounts_count(all), CLIENTS);
	gave(0);
	ck_assert_uint_eq(accounts_count(all), CLIENTS - 1);
}

/* Of a table that is full, and where memory is out, clients share an account: they have turns. */
TEST(the_crowd)
{
	struct addr a = { .in.sin_family = AF_INET, .in.sin_addr.s_addr = CLIENTS + 1 };
	struct account *crowd = account_open(all, &a);

	line.budget.max = 100;
	ck_assert(account_is_crowd(crowd));
	line_join(&line, &turns[0], crowd, NULL);
	line_join(&line, &turns[1], crowd, NULL);
	join(2, 0);
	ck_assert(next() == 0 && next() == 2);
	account_close(&crowd);
	ck_assert_int_eq(next(), 1);
}

TEST(many)
{
	line.budget.max = TURNS;
	for (unsigned i = 0; i < TURNS; i++)
		join(i, i < TURNS / 2 ? 0 : i % CLIENTS);
	for (unsigned i = 0; i < CLIENTS; i++)
		ck_assert_int_ge(next(), 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		ck_assert_uint_eq(clients[i]->parts[ACCOUNT_THREADS].held, 1);
}

/* --- connections ------------------------------------------------------------------------------ */

static enum line_answer ask(struct line *l, struct line_turn *t)
{
	asked++;
	return answers[t - turns];
}

static void join_of(unsigned turn, unsigned client, unsigned connection)
{
	line_join(&line, &turns[turn], clients[client], &connections[connection]);
}

static void by_connections(void)
{
	line.ask = ask;
	line.of_connections = true;
	for (unsigned i = 0; i < 4; i++)
		join_of(i, 0, 0);
	for (unsigned i = 4; i < 6; i++)
		join_of(i, 0, 1);
	join_of(6, 1, 2);
}

TEST(connections_take_turns)
{
	static const int order[] = { 0, 6, 4, 1, 5, 2, 3 };

	by_connections();
	for (unsigned i = 0; i < 7; i++)
		ck_assert_int_eq(next(), order[i]);
	ck_assert_int_eq(next(), -1);
}

/* The first of a connection that may not keeps those behind it, and no other connection. */
TEST(who_may_not)
{
	by_connections();
	answers[0] = LINE_WAIT;
	ck_assert(next() == 4 && next() == 6 && next() == 5 && next() == -1);
	answers[0] = LINE_GO;
	ck_assert_int_eq(next(), 0);
}

/* Where nobody may, one is asked, and the others are before it the next time. */
TEST(full)
{
	by_connections();
	answers[0] = LINE_FULL;
	ck_assert_int_eq(next(), -1);
	ck_assert_uint_eq(asked, 1);
	answers[0] = LINE_GO;
	ck_assert_int_eq(next(), 6);
	ck_assert_int_eq(next(), 4);
}

/* --- who pays --------------------------------------------------------------------------------- */

static void have(unsigned turn, unsigned client)
{
	turns[turn].account = clients[client];
	line_took(&line, &turns[turn], 1);
	line_lend(&line, &turns[turn]);
}

TEST(unused)
{
	ck_assert_ptr_null(line_unused(&line, 0));
	for (unsigned i = 0; i < 3; i++)
		have(i, i);
	line_lend(&line, &turns[0]);
	ck_assert_ptr_eq(line_unused(&line, 0), &turns[1]);
	ck_assert_ptr_null(line_unused(&line, 1000));
	at(2000);
	line_lend(&line, &turns[1]);
	ck_assert_ptr_eq(line_unused(&line, 1000), &turns[2]);
	line_keep(&turns[2]);
	ck_assert_ptr_eq(line_unused(&line, 1000), &turns[0]);
	gave(0);
	ck_assert_ptr_null(line_unused(&line, 1000));
}

TEST(lent_by_client)
{
	line.by_client = true;
	have(0, 0);
	have(1, 1);
	have(2, 0);
	ck_assert_ptr_eq(line_lent(&line, clients[0])->next, &turns[0].node);
	line_lend(&line, &turns[0]);
	ck_assert_ptr_eq(line_lent(&line, clients[0])->next, &turns[2].node);
	ck_assert_ptr_null(line_unused(&line, 0));
}

TEST(longest)
{
	for (unsigned i = 0; i < 5; i++)
		join(i, 0);
	for (unsigned i = 5; i < 8; i++)
		join(i, 1);
	ck_assert_ptr_eq(line_longest(&line, clients[2]), &turns[4]);
	line_leave(&line, &turns[4]);
	line_leave(&line, &turns[3]);
	ck_assert_ptr_eq(line_longest(&line, clients[2]), &turns[2]);
	ck_assert_ptr_null(line_longest(&line, clients[1]));
}

static bool is_even(struct line_turn *first)
{
	return (first - turns) % 2 == 0;
}

TEST(counted_by_connection)
{
	by_connections();
	ck_assert_uint_eq(line_count(&line, is_even, 10), 3);
	ck_assert_uint_eq(line_count(&line, is_even, 2), 2);
	line_leave(&line, &turns[0]);
	ck_assert_uint_eq(line_count(&line, is_even, 10), 2);
}
