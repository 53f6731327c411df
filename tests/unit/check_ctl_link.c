/*
 * check_ctl_link: messages come in their order, descriptors that nobody keeps are closed, one that
 * came without its descriptors is asked for again, ticks are told once a second, and the end once.
 */
#include "ipc/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "fds_unit.h"

static struct loop loop;
static struct ctl_link link_end;
static int pair[2], kept[CTL_FDS_MAX], nkept, keep, gone;
static uint32_t types[8];
static unsigned ntypes;

static int on_message(struct ctl_link *l, const struct ctl_msg *msg, const int *fds, int nfds)
{
	ck_assert_ptr_eq(l, &link_end);
	types[ntypes++] = msg->type;
	for (nkept = 0; nkept < keep && nkept < nfds; nkept++)
		kept[nkept] = fds[nkept];
	return nkept;
}

static void on_gone(struct ctl_link *l)
{
	ck_assert_ptr_eq(l, &link_end);
	gone++;
}

static void setup(void)
{
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(ctl_pair(pair), 0);
	link_end = (struct ctl_link){ .message = on_message, .gone = on_gone };
	ck_assert_int_eq(ctl_link_open(&link_end, &loop, pair[1]), 0);
}

static void teardown(void)
{
	ctl_link_close(&link_end);
	loop_fini(&loop);
	close(pair[0]);
	close(pair[1]);
}

static void send(uint32_t type, const int *fds, int nfds)
{
	const struct ctl_msg msg = { .type = type };

	ck_assert_int_eq(ctl_send(pair[0], &msg, fds, nfds), 0);
}

static void turn(void)
{
	ck_assert_int_ge(loop_turn(&loop, 0), 0);
}

TEST(what_is_not_kept_is_closed)
{
	const int fds[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	int before = open_fds();

	keep = 1;
	send(CTL_LOGS, fds, 3);
	send(CTL_DRAIN, NULL, 0);
	turn();
	ck_assert_uint_eq(ntypes, 2);
	ck_assert_uint_eq(types[0], CTL_LOGS);
	ck_assert_uint_eq(types[1], CTL_DRAIN);
	ck_assert_int_eq(open_fds(), before + 1);
	ck_assert_int_eq(ctl_link_unknown(&(struct ctl_msg){ .type = 99 }), 0);
}

TEST(what_is_lost_is_asked_for)
{
	const int fds[] = { STDIN_FILENO };
	struct rlimit all, none;
	struct ctl_msg msg;
	int came[CTL_FDS_MAX], n;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = all.rlim_max };
	send(CTL_LISTEN, fds, 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	turn();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
	ck_assert_uint_eq(ntypes, 0);
	ck_assert_uint_eq(link_end.lost.types, CTL_TYPE(CTL_LISTEN));
	link_end.lost.at_ms = 0; /* long ago */
	ctl_link_look(&link_end);
	ck_assert_int_eq(ctl_recv(pair[0], &msg, came, &n), 1);
	ck_assert_uint_eq(msg.type, CTL_AGAIN);
	ck_assert_uint_eq(msg.arg, CTL_TYPE(CTL_LISTEN));
}

TEST(ticks_are_told_once_a_second)
{
	struct ctl_msg msg;
	int came[CTL_FDS_MAX], n;

	for (unsigned i = 0; i < 100; i++)
		ctl_link_tick(&link_end);
	ck_assert_int_eq(ctl_recv(pair[0], &msg, came, &n), 1);
	ck_assert_uint_eq(msg.type, CTL_TICK);
	ck_assert_int_eq(ctl_recv(pair[0], &msg, came, &n), -EAGAIN);
	link_end.ticked_ms -= 1000; /* a second passes */
	ctl_link_tick(&link_end);
	ck_assert_int_eq(ctl_recv(pair[0], &msg, came, &n), 1);
}

TEST(the_end_is_told_once)
{
	send(CTL_DRAIN, NULL, 0);
	close(pair[0]);
	turn();
	turn();
	ck_assert_uint_eq(ntypes, 1);
	ck_assert_int_eq(gone, 1);
	ck_assert(!link_end.watch.active);
	pair[0] = dup(pair[1]); /* for teardown() */
}

UNIT_FIXTURE(setup, teardown)

UNIT_MAIN("ctl_link")
