/*
 * check_acceptor_inbox: credits and loads, with a worker that counts well, one that lies, one that
 * dies and has a successor.
 */
#include "server/acceptor.h"

#include "ipc/ctl.h"
#include "unit.h"

static struct acceptor_inbox in;
static struct board_slot worker;
static unsigned taken, live; /* of the worker */

static void show(void)
{
	worker.load = BOARD_LOAD_OF(taken, live);
}

UNIT_SETUP(setup)
{
	memset(&in, 0, sizeof(in));
	memset(&worker, 0, sizeof(worker));
	ck_assert_int_eq(scm_pair(in.ends), 0);
	worker.state = BOARD_UP;
	acceptor_inbox_behind(&in, (struct board_worker){ &worker, 1 });
}

UNIT_TEARDOWN(teardown)
{
	while (in.nhand > 0)
		close(in.hand[--in.nhand].fd);
	close(in.ends[0]);
	close(in.ends[1]);
}

static void put(void)
{
	const struct fdpass conn = { .fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
		.peer = { .sa = { .sa_family = AF_UNIX }, .len = sizeof(sa_family_t) } };

	ck_assert_int_ge(conn.fd, 0);
	acceptor_inbox_put(&in, &conn);
}

/* Gives it connections as long as it is open, at most max; how many. */
static unsigned fill(unsigned max)
{
	unsigned n = 0;

	while (n < max && acceptor_inbox_choice(&in, false).open) {
		put();
		n++;
	}
	ck_assert_int_eq(acceptor_inbox_flush(&in), 0);
	return n;
}

/* The worker receives n, and says so. */
static void receive(unsigned n)
{
	struct fdpass conns[FDPASS_MAX];

	while (n > 0) {
		int got = fdpass_recv(in.ends[0], conns, n);

		ck_assert_int_gt(got, 0);
		for (int i = 0; i < got; i++)
			close(conns[i].fd);
		n -= (unsigned)got;
		taken += (unsigned)got;
		live += (unsigned)got;
	}
	show();
}

TEST(full_is_sixteen_that_wait)
{
	ck_assert_uint_eq(fill(1000), ACCEPTOR_CREDITS);
	ck_assert(!acceptor_inbox_choice(&in, false).open);
	receive(3);
	ck_assert_uint_eq(fill(1000), 3);
	ck_assert_uint_eq(fdpass_waiting(in.ends[0]), ACCEPTOR_CREDITS);
}

TEST(what_is_in_hand_waits)
{
	for (unsigned i = 0; i < ACCEPTOR_CREDITS; i++) {
		ck_assert(acceptor_inbox_choice(&in, false).open);
		put();
	}
	ck_assert(!acceptor_inbox_choice(&in, false).open);
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, ACCEPTOR_CREDITS);
}

TEST(load_is_what_it_has_and_will_have)
{
	ck_assert_uint_eq(fill(5), 5);
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 5);
	receive(2);
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 5);
	live--; /* one has ended */
	show();
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 4);
	receive(3);
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 4);
}

/* However long it goes on, over the end of the counters, too. */
TEST(load_holds_for_long)
{
	taken = in.sent = UINT32_MAX - 100;
	show();
	for (unsigned i = 0; i < 300; i++) {
		ck_assert_uint_eq(fill(1), 1);
		ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 1);
		receive(1);
		live = 0;
		show();
		ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 0);
	}
}

TEST(only_a_worker_that_is_up_is_open)
{
	for (uint32_t state = 0; state < 5; state++) {
		worker.state = state;
		ck_assert(acceptor_inbox_choice(&in, false).open == (state == BOARD_UP));
		ck_assert(acceptor_inbox_choice(&in, true).open ==
			  (state == BOARD_UP || state == BOARD_DRAIN));
	}
	acceptor_inbox_behind(&in, (struct board_worker){ NULL, 0 });
	ck_assert(!acceptor_inbox_choice(&in, false).open);
}

/* --- a worker that lies ----------------------------------------------------------------------- */

/* Whatever it says it took: no more than the credits ever wait. */
TEST(a_lie_about_taken_brings_no_more)
{
	static const uint32_t lies[] = { 0, 1, 17, 1000, 1u << 31, UINT32_MAX - 5, UINT32_MAX };
	unsigned n = 0;

	for (unsigned i = 0; i < 7; i++) {
		taken = lies[i];
		show();
		n += fill(1000);
		ck_assert_uint_eq(fdpass_waiting(in.ends[0]), n);
	}
	ck_assert_uint_eq(n, ACCEPTOR_CREDITS);
}

TEST(one_that_says_it_took_all_at_once_gets_no_more)
{
	for (unsigned i = 0; i < 1000 && acceptor_inbox_choice(&in, false).open; i++) {
		put();
		ck_assert_int_eq(acceptor_inbox_flush(&in), 0);
		taken++;
		show();
	}
	ck_assert(!acceptor_inbox_choice(&in, false).open);
	ck_assert_uint_le(fdpass_waiting(in.ends[0]), ACCEPTOR_CREDITS);
}

TEST(one_that_says_it_took_none_is_served)
{
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_uint_eq(fill(1), 1);
		receive(1);
		taken = 0;
		show();
	}
	ck_assert_uint_le(acceptor_inbox_choice(&in, false).load, 100 + ACCEPTOR_CREDITS);
}

TEST(loads_are_clamped)
{
	live = UINT32_MAX;
	taken = UINT32_MAX / 2;
	show();
	ck_assert_uint_le(acceptor_inbox_choice(&in, false).load, (1u << 20) + ACCEPTOR_CREDITS);
}

/* --- another process -------------------------------------------------------------------------- */

TEST(a_successor_reads_on)
{
	ck_assert_uint_eq(fill(10), 10);
	receive(4);
	memset(&worker, 0, sizeof(worker)); /* it died; another begins, on the same page */
	taken = live = 0;
	acceptor_inbox_behind(&in, (struct board_worker){ &worker, 2 });
	ck_assert(!acceptor_inbox_choice(&in, false).open);
	worker.state = BOARD_UP;
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 6);
	ck_assert_uint_eq(fill(1000), ACCEPTOR_CREDITS - 6);
	receive(ACCEPTOR_CREDITS);
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, ACCEPTOR_CREDITS);
}

/* An acceptor that was started again knows nothing of what the one before sent. */
TEST(another_acceptor_counts_on)
{
	struct acceptor_inbox next = { .ends = { in.ends[0], in.ends[1] } };

	ck_assert_uint_eq(fill(9), 9);
	receive(2);
	in = next;
	acceptor_inbox_behind(&in, (struct board_worker){ &worker, 1 });
	ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 9);
	ck_assert_uint_eq(fill(1000), ACCEPTOR_CREDITS - 7);
}

/* What it had received and not yet counted when it was looked at. */
TEST(a_look_at_the_wrong_moment_passes)
{
	ck_assert_uint_eq(fill(8), 8);
	receive(3);
	taken -= 3;
	show();
	in.behind.serial = 0;
	acceptor_inbox_behind(&in, (struct board_worker){ &worker, 1 });
	receive(5);
	taken += 3;
	show();
	for (unsigned i = 0; i < 2 * ACCEPTOR_CREDITS; i++) {
		ck_assert_uint_eq(acceptor_inbox_choice(&in, false).load, 8);
		ck_assert_uint_eq(fill(1), 1);
		receive(1);
		live--;
		show();
	}
}
