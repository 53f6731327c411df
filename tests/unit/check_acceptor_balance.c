/* check_acceptor_balance: who has fewest, and whose source it is. */
#include "server/acceptor.h"

#include "unit_pure.h"

enum { SLOTS = 8, SOURCES = 4000 };

static struct acceptor_choice choices[SLOTS];

static void all_open(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		choices[i] = (struct acceptor_choice){ .open = true };
}

static struct addr source(unsigned i)
{
	struct addr a = { .in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)i) },
		.len = sizeof(struct sockaddr_in) };

	a.in.sin_addr.s_addr = htonl(0x0a000000 + i);
	return a;
}

static int pick(struct acceptor_balance *b, unsigned n)
{
	const struct addr peer = source(1);

	return acceptor_balance_pick(b, choices, n, &peer);
}

TEST(nobody_is_open)
{
	for (int mode = 0; mode < 2; mode++) {
		struct acceptor_balance b = { .by_source = mode == 1, .next = 3 };

		memset(choices, 0, sizeof(choices));
		ck_assert_int_eq(pick(&b, SLOTS), -1);
		ck_assert_uint_eq(b.next, 3);
		choices[5].open = true;
		ck_assert_int_eq(pick(&b, SLOTS), 5);
	}
}

TEST(fewest)
{
	struct acceptor_balance b = { .next = 0 };

	all_open();
	for (unsigned i = 0; i < SLOTS; i++)
		choices[i].load = 10;
	choices[6].load = 9;
	ck_assert_int_eq(pick(&b, SLOTS), 6);
	choices[6].open = false; /* however few it has */
	choices[6].load = 0;
	choices[3].load = 9;
	ck_assert_int_eq(pick(&b, SLOTS), 3);
}

/* Those who have equally few take turns: the first of them is not the one for all that come. */
TEST(ties_take_turns)
{
	struct acceptor_balance b = { .next = 0 };
	unsigned got[SLOTS] = { 0 };

	all_open();
	choices[4].load = 1;
	for (int i = 0; i < 7 * 10; i++)
		got[pick(&b, SLOTS)]++;
	for (unsigned i = 0; i < SLOTS; i++)
		ck_assert_uint_eq(got[i], i == 4 ? 0 : 10);
}

/* Eight that stay, on four workers: two each. */
TEST(fewest_is_even)
{
	struct acceptor_balance b = { .next = 3 };

	all_open();
	for (int i = 0; i < 8; i++)
		choices[pick(&b, 4)].load++;
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(choices[i].load, 2);
}

/* By those that have more than a few more; and never by source. */
TEST(one_that_is_behind_is_waited_for)
{
	const struct acceptor_balance least = { .next = 0 }, by_source = { .by_source = true };

	all_open();
	choices[0] = (struct acceptor_choice){ .behind = true, .load = 20 };
	choices[1].load = 28;
	choices[2].load = 29;
	acceptor_balance_hold(&by_source, choices, SLOTS);
	ck_assert(choices[2].open);
	acceptor_balance_hold(&least, choices, SLOTS);
	ck_assert(!choices[0].open);
	ck_assert(choices[1].open);
	ck_assert(!choices[2].open);
	choices[0].behind = false; /* it takes nothing any more */
	choices[2].open = true;
	choices[3].load = UINT32_MAX;
	acceptor_balance_hold(&least, choices, SLOTS);
	ck_assert(choices[2].open);
}

TEST(a_source_stays_where_it_is)
{
	struct acceptor_balance b = { .by_source = true };
	int at[SOURCES];
	unsigned moved = 0, got[SLOTS] = { 0 };

	all_open();
	for (unsigned i = 0; i < SOURCES; i++) {
		struct addr peer = source(i);

		at[i] = acceptor_balance_pick(&b, choices, SLOTS, &peer);
		got[at[i]]++;
		peer.in.sin_port = htons((uint16_t)(i * 7)); /* it comes from another port */
		ck_assert_int_eq(acceptor_balance_pick(&b, choices, SLOTS, &peer), at[i]);
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		ck_assert_uint_gt(got[i], SOURCES / SLOTS * 3 / 4);
		ck_assert_uint_lt(got[i], SOURCES / SLOTS * 5 / 4);
	}
	/* One worker is lost: its sources move, to all of the others, and nobody else's do. */
	choices[2].open = false;
	memset(got, 0, sizeof(got));
	for (unsigned i = 0; i < SOURCES; i++) {
		const struct addr peer = source(i);
		int now = acceptor_balance_pick(&b, choices, SLOTS, &peer);

		if (at[i] == 2) {
			got[now]++;
			moved++;
		} else {
			ck_assert_int_eq(now, at[i]);
		}
	}
	ck_assert_uint_gt(moved, 0);
	for (unsigned i = 0; i < SLOTS; i++)
		ck_assert(i == 2 ? got[i] == 0 : got[i] > moved / SLOTS / 2);
	/* And come back with it. */
	choices[2].open = true;
	for (unsigned i = 0; i < SOURCES; i++) {
		const struct addr peer = source(i);

		ck_assert_int_eq(acceptor_balance_pick(&b, choices, SLOTS, &peer), at[i]);
	}
}

/* A worker more takes its share from all, and moves nothing between the others. */
TEST(a_source_moves_to_a_new_worker_only)
{
	struct acceptor_balance b = { .by_source = true };
	unsigned moved = 0;

	all_open();
	for (unsigned i = 0; i < SOURCES; i++) {
		const struct addr peer = source(i);
		int before = acceptor_balance_pick(&b, choices, SLOTS - 1, &peer);
		int now = acceptor_balance_pick(&b, choices, SLOTS, &peer);

		ck_assert(now == before || now == SLOTS - 1);
		moved += now != before;
	}
	ck_assert_uint_gt(moved, SOURCES / SLOTS * 3 / 4);
	ck_assert_uint_lt(moved, SOURCES / SLOTS * 5 / 4);
}

TEST(an_ipv6_source_is_a_network)
{
	struct acceptor_balance b = { .by_source = true };
	struct addr peer;
	unsigned others = 0;
	char text[64];
	int at;

	all_open();
	ck_assert_ptr_null(addr_parse("[2001:db8::1]:1", &peer));
	at = acceptor_balance_pick(&b, choices, SLOTS, &peer);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "[2001:db8::%x]:1", i);
		ck_assert_ptr_null(addr_parse(text, &peer));
		ck_assert_int_eq(acceptor_balance_pick(&b, choices, SLOTS, &peer), at);
		snprintf(text, sizeof(text), "[2001:db8:%x::1]:1", i + 1);
		ck_assert_ptr_null(addr_parse(text, &peer));
		others += acceptor_balance_pick(&b, choices, SLOTS, &peer) != at;
	}
	ck_assert_uint_gt(others, 60);
}

TEST(peers_without_an_address_take_turns)
{
	struct acceptor_balance b = { .by_source = true };
	const struct addr peer = { .sa = { .sa_family = AF_UNIX }, .len = sizeof(sa_family_t) };

	all_open();
	for (int i = 0; i < 2 * SLOTS; i++)
		ck_assert_int_eq(acceptor_balance_pick(&b, choices, SLOTS, &peer), i % SLOTS);
}
