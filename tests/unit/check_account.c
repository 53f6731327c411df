/* check_account: which clients share an account, whose place goes to another, and what each may
 * hold of a budget. */

#include "base/clock.h"
#include "share/account.h"
#include "unit.h"

enum { MAX = 64, SUM = 1000, LEAST = 4 };

static struct accounts *all;
static struct account_keys keys;
static struct budget budget;

UNIT_SETUP(setup)
{
	clock_set(1000 * 1000, (struct timespec){ 0 });
	ck_assert(account_keys_make(&keys));
	all = accounts_new(MAX, &keys, 64, NULL);
	ck_assert_ptr_nonnull(all);
	budget_init(&budget, ACCOUNT_FILES, SUM, LEAST, 1);
}

UNIT_TEARDOWN(teardown)
{
	ck_assert_uint_eq(budget.held, 0);
	ck_assert(list_empty(&budget.holders));
	accounts_free(&all);
	ck_assert_ptr_null(all);
}

static struct addr addr_of(const char *text)
{
	struct addr a;

	ck_assert_ptr_null(addr_parse(text, &a));
	return a;
}

static struct account *open_text(const char *text)
{
	struct addr a = addr_of(text);

	return account_open(all, &a);
}

static struct account *open_nth(unsigned n)
{
	char text[32];

	snprintf(text, sizeof(text), "10.0.%u.%u:80", n / 256, n % 256);
	return open_text(text);
}

static const struct {
	const char *one, *other;
	bool same;
} clients[] = {
	{ "192.0.2.1:1", "192.0.2.1:2", true },
	{ "192.0.2.1:1", "192.0.2.2:1", false },
	{ "[2001:db8::1]:1", "[2001:db8::ffff]:2", true },
	{ "[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1", false },
	{ "unix:/a", "unix:/b", true },
	{ "unix:/a", "0.0.0.0:1", false },
	{ "0.0.0.0:1", "[::]:1", false },
};

TEST_ROWS(client_is_an_address_or_a_network, clients)
{
	struct account *one = open_text(clients[_i].one), *other = open_text(clients[_i].other);

	ck_assert_int_eq(one == other, clients[_i].same);
	account_close(&one);
	account_close(&other);
	ck_assert_ptr_null(one);
	ck_assert_uint_eq(accounts_count(all), 0);
}

/* Two tables with the same keys, as two workers have, know a client by the same mark. */
TEST_ROWS(marks, clients)
{
	struct accounts *other = accounts_new(MAX, &keys, 64, NULL);
	struct addr one = addr_of(clients[_i].one), two = addr_of(clients[_i].other);
	struct account *a, *b;
	bool exempt = true;

	ck_assert_ptr_nonnull(other);
	a = account_open(all, &one);
	b = account_open(other, &two);
	ck_assert_int_eq(a->mark == b->mark, clients[_i].same);
	ck_assert_uint_eq(account_mark(all, &two, &exempt), b->mark);
	ck_assert(!exempt && !a->exempt);
	account_close(&a);
	account_close(&b);
	accounts_free(&other);
}

TEST(networks_of_other_sizes)
{
	struct account *a, *b, *c;

	accounts_free(&all);
	all = accounts_new(MAX, &keys, 56, NULL);
	a = open_text("[2001:db8:0:1::1]:1");
	b = open_text("[2001:db8:0:ff::1]:1");
	c = open_text("[2001:db8:0:100::1]:1");
	ck_assert_ptr_eq(a, b);
	ck_assert_ptr_ne(a, c);
	account_close(&a);
	account_close(&b);
	account_close(&c);
}

TEST(full_table_has_a_crowd)
{
	struct account *v[MAX + 2], *again;

	for (unsigned i = 0; i < MAX + 2; i++)
		v[i] = open_nth(i);
	ck_assert_uint_eq(accounts_count(all), MAX);
	ck_assert_ptr_eq(v[MAX], v[MAX + 1]);
	ck_assert_ptr_ne(v[MAX - 1], v[MAX]);
	account_close(&v[0]);
	again = open_nth(MAX + 3);
	ck_assert_ptr_ne(again, v[MAX]);
	account_close(&again);
	for (unsigned i = 1; i < MAX + 2; i++)
		account_close(&v[i]);
	ck_assert_uint_eq(accounts_count(all), 0);
}

TEST(remembered_account_stays_until_its_time)
{
	struct account *a = open_nth(0), *same, *others[MAX];

	a->keep_ms = clock_ms() + 100;
	same = a;
	account_close(&a);
	accounts_look(all);
	ck_assert_uint_eq(accounts_count(all), 1);
	a = open_nth(0);
	ck_assert_ptr_eq(a, same);
	account_close(&a);
	clock_set(1100 * 1000, (struct timespec){ 0 });
	accounts_look(all);
	ck_assert_uint_eq(accounts_count(all), 0);

	/* A client that is there goes before one that is remembered. */
	a = open_nth(0);
	a->keep_ms = clock_ms() + 100;
	account_close(&a);
	for (unsigned i = 0; i < MAX; i++) {
		others[i] = open_nth(i + 1);
		ck_assert_uint_eq(others[i]->id[4], i + 1);
	}
	for (unsigned i = 0; i < MAX; i++)
		account_close(&others[i]);
}

TEST(one_client_leaves_some_to_the_next)
{
	struct account *a = open_nth(0), *b = open_nth(1);
	uint64_t n = 0, m;

	for (; budget_room(&budget, a) > 0; n++)
		budget_take(&budget, a, 1);
	ck_assert_uint_eq(n, SUM / 2);
	ck_assert_uint_eq(budget_room(&budget, a), 0);
	m = budget_room(&budget, b);
	ck_assert_uint_eq(m, SUM / 4);
	budget_take(&budget, b, m);
	/* What is given back is there for both. */
	budget_give(&budget, a, n);
	ck_assert_uint_gt(budget_room(&budget, a), budget_room(&budget, b));
	budget_give(&budget, b, m);
	account_close(&a);
	account_close(&b);
}

TEST(least_share_is_there_until_the_sum_is_used_up)
{
	struct account *a = open_nth(0), *b = open_nth(1);

	budget_take(&budget, a, SUM - 3);
	ck_assert_uint_eq(budget_room(&budget, a), 0);
	ck_assert_uint_eq(budget_room(&budget, b), 3);
	budget_take(&budget, b, 3);
	ck_assert_uint_eq(budget_room(&budget, b), 0);
	ck_assert_ptr_eq(budget_greediest(&budget), a);
	budget_give(&budget, a, SUM - 3);
	ck_assert_ptr_null(budget_greediest(&budget));
	ck_assert_uint_ge(budget_room(&budget, b), 1);
	budget_give(&budget, b, 3);
	account_close(&a);
	account_close(&b);
}

TEST(nobody_has_what_is_left)
{
	ck_assert_uint_eq(budget_room(&budget, NULL), SUM);
	budget_take(&budget, NULL, SUM + 1);
	ck_assert_uint_eq(budget_room(&budget, NULL), 0);
	ck_assert_ptr_null(budget_greediest(&budget));
	budget_give(&budget, NULL, SUM + 1);
}

TEST(account_that_holds_something_stays)
{
	struct account *a = open_nth(0), *same = a;

	budget_take(&budget, a, 2);
	account_close(&a);
	a = open_nth(0);
	ck_assert_ptr_eq(a, same);
	account_close(&a);
	budget_give(&budget, same, 1);
	ck_assert_uint_eq(accounts_count(all), 1);
	budget_give(&budget, same, 1);
	ck_assert_uint_eq(accounts_count(all), 0);
}
