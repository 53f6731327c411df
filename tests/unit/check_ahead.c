/*
 * check_ahead: parts of the sum that clients may send ahead: what one client gets alone and beside
 * others, who gives way to whom, and that nothing in memory is ever counted as free.
 */

#include "base/clock.h"
#include "base/counters.h"
#include "proto/window.h"
#include "unit.h"

enum { MIB = 1 << 20, SUM = 128 * MIB, CLIENTS = 12, PARTS = 200 };

static struct accounts *all;
static struct account *clients[CLIENTS];
static struct ahead ahead;
static uint64_t now_ms;

static struct holder {
	struct ahead_part part;
	uint64_t in_memory;
	unsigned withdrawn;
} holders[PARTS];

static void pass(uint64_t ms)
{
	now_ms += ms;
	clock_set(1000 * now_ms, (struct timespec){ 0 });
}

static void withdraw(struct ahead_part *part)
{
	struct holder *h = LIST_ENTRY(part, struct holder, part);

	h->withdrawn++;
	if (part->turn.held > h->in_memory)
		ahead_give(&ahead, part, part->turn.held - h->in_memory);
}

static int64_t limits(void)
{
	return counters_get(counters, COUNTER_limit_windows);
}

UNIT_SETUP(setup)
{
	now_ms = 0;
	pass(1000);
	all = accounts_new(100, &(struct account_keys){ 0 }, 64, NULL);
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct addr a;
		char text[24];

		snprintf(text, sizeof(text), "192.0.2.%u:1", i + 1);
		ck_assert_ptr_null(addr_parse(text, &a));
		clients[i] = account_open(all, &a);
	}
	for (unsigned i = 0; i < PARTS; i++) {
		holders[i] = (struct holder){ 0 };
		ahead_part_init(&holders[i].part, clients[i % CLIENTS], withdraw);
	}
	ahead_init(&ahead, 16 * MIB);
}

UNIT_TEARDOWN(teardown)
{
	for (unsigned i = 0; i < PARTS; i++)
		if (holders[i].part.turn.held > 0)
			ahead_give(&ahead, &holders[i].part, holders[i].part.turn.held);
	ck_assert(list_empty(&ahead.line.lent));
	ck_assert_uint_eq(ahead.line.budget.held, 0);
	ck_assert_int_eq(counters_get(counters, COUNTER_receive_windows), 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		account_close(&clients[i]);
	accounts_free(&all);
}

/* Part i is client's, and asks for n. */
static bool begins(unsigned i, unsigned client, uint64_t n)
{
	holders[i].part.turn.account = clients[client];
	return ahead_take(&ahead, &holders[i].part, n, n, false) == n;
}

/* How many parts of a MiB client gets, from part i on. */
static unsigned begins_all(unsigned i, unsigned client)
{
	unsigned n = 0;

	while (i + n < PARTS && begins(i + n, client, MIB))
		n++;
	return n;
}

TEST(one_client)
{
	ck_assert_uint_eq(begins_all(0, 0), SUM / 2 / MIB);
	ck_assert_int_eq(limits(), 1);
	/* Of those that ask again and again it is said once. */
	ck_assert(!begins(SUM / 2 / MIB, 0, MIB));
	ck_assert_int_eq(limits(), 1);
	ck_assert_uint_eq(ahead.line.budget.held, SUM / 2);
}

/* Whoever comes later has less than who came first, and a least share all the same: it is the one
 * that holds most who pays. */
TEST(many_clients)
{
	unsigned n = 0, was;

	for (unsigned client = 0; client < CLIENTS; client++) {
		was = n;
		n += begins_all(n, client);
		ck_assert_uint_gt(n, was);
		ck_assert_uint_le(ahead.line.budget.held, SUM);
		pass(1);
	}
	ck_assert_uint_gt(holders[0].withdrawn, 0);
	ck_assert_uint_eq(holders[0].part.turn.held, 0);
	ck_assert_uint_eq(holders[n - 1].withdrawn, 0);
}

/* What the one that holds most has in memory is not free. */
TEST(held_in_memory)
{
	unsigned n = 0;

	for (unsigned client = 0; client < CLIENTS; client++)
		for (unsigned i = n, end = n + begins_all(n, client); i < end; i++, n++)
			holders[i].in_memory = MIB;
	ck_assert_uint_eq(ahead.line.budget.held, SUM);
	pass(5000);
	ck_assert(!begins(PARTS - 1, CLIENTS - 1, MIB));
	ck_assert_uint_eq(ahead.line.budget.held, SUM);
	holders[0].in_memory = 0;
	pass(1000);
	ck_assert(begins(PARTS - 1, CLIENTS - 1, MIB));
}

/* A second without an eighth of it having come: others may have it, the longest unused first. */
TEST(unused)
{
	for (unsigned i = 0; i < 4; i++)
		ck_assert(ahead_take(&ahead, &holders[i].part, 0, 16 * MIB, true) == 16 * MIB);
	for (unsigned ms = 0; ms < 1000; ms += 100) {
		pass(100);
		ahead_came(&ahead, &holders[1].part, MIB);
		ahead_came(&ahead, &holders[2].part, 10);
		ahead_came(&ahead, &holders[3].part, MIB);
	}
	ck_assert_uint_eq(ahead_take(&ahead, &holders[4].part, 0, 8 * MIB, true), 8 * MIB);
	ck_assert_uint_eq(holders[0].withdrawn, 1);
	ck_assert_uint_eq(holders[2].withdrawn, 0);
	ck_assert_uint_eq(ahead_take(&ahead, &holders[4].part, 0, 32 * MIB, true), 24 * MIB);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(holders[i].withdrawn, i % 2 == 0);
}

/* The half that is not for growth is for those that begin. */
TEST(growth)
{
	ck_assert_uint_eq(ahead_take(&ahead, &holders[0].part, 0, 60 * MIB, true), 60 * MIB);
	ck_assert_uint_eq(ahead_take(&ahead, &holders[1].part, 0, 60 * MIB, true), 4 * MIB);
	ck_assert(begins(2, 2, MIB));
	ck_assert_uint_eq(ahead_take(&ahead, &holders[3].part, 0, 100 * MIB, false), 63 * MIB / 2);
}
