/*
 * check_ctl: messages and descriptors over the pair; what is malformed costs no descriptor. Of the
 * link: messages come in their order, descriptors that nobody keeps are closed, one that came
 * without its descriptors is asked for again, ticks are told once a second, and the end once. A
 * process without a master ends when its loop stands still, and not while it turns.
 */
#include "ipc/ctl.h"

#include <stdbool.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "fds_unit.h"
#include "loop_unit.h"

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

UNIT_SETUP(setup)
{
	ck_assert_int_eq(scm_pair(pair), 0);
	link_end = (struct ctl_link){ .message = on_message, .gone = on_gone };
	ck_assert_int_eq(ctl_link_open(&link_end, &loop, pair[1]), 0);
}

UNIT_TEARDOWN(teardown)
{
	ctl_link_close(&link_end);
	close(pair[0]);
	close(pair[1]);
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	ck_assert_int_eq(fstat(a, &sa), 0);
	ck_assert_int_eq(fstat(b, &sb), 0);
	return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

TEST(pair_flags)
{
	for (int i = 0; i < 2; i++) {
		ck_assert(fcntl(pair[i], F_GETFD) & FD_CLOEXEC);
		ck_assert(fcntl(pair[i], F_GETFL) & O_NONBLOCK);
	}
}

TEST(both_ways)
{
	const struct ctl_msg sent = { CTL_DRAIN, .arg = 1ull << 40, .size = 9 };
	struct ctl_msg got;
	int fds[CTL_FDS_MAX], nfds = -1;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ctl_recv(pair[!i], &got, fds, &nfds), -EAGAIN);
		ck_assert_int_eq(ctl_send(pair[i], &sent, NULL, 0), 0);
		ck_assert_int_eq(ctl_recv(pair[!i], &got, fds, &nfds), 1);
		ck_assert_mem_eq(&got, &sent, sizeof(sent));
		ck_assert_int_eq(nfds, 0);
	}
}

/* _i descriptors, alternately two different files, in order. */
TEST_RANGE(descriptors, 1, CTL_FDS_MAX + 1)
{
	const struct ctl_msg sent = { .type = CTL_IMAGE, .arg = 3 };
	struct ctl_msg got;
	int fds[CTL_FDS_MAX], back[CTL_FDS_MAX], nfds = -1;
	int a = open("/dev/null", O_RDONLY), b = open("/dev/zero", O_RDONLY);
	int before = open_fds();

	for (int i = 0; i < _i; i++)
		fds[i] = i % 2 == 0 ? a : b;
	ck_assert_int_eq(ctl_send(pair[0], &sent, fds, _i), 0);
	ck_assert_int_eq(ctl_recv(pair[1], &got, back, &nfds), 1);
	ck_assert_int_eq(nfds, _i);
	ck_assert_int_eq(open_fds(), before + _i);
	for (int i = 0; i < nfds; i++) {
		ck_assert(same_file(back[i], fds[i]));
		ck_assert(fcntl(back[i], F_GETFD) & FD_CLOEXEC);
		close(back[i]);
	}
}

TEST_EACH(malformed, 7)
{
	char bytes[2 * sizeof(struct ctl_msg)] = { 0 };
	static const struct {
		size_t n;
		int nfds;
	} cases[] = { { 1, 0 }, { sizeof(struct ctl_msg) - 1, 1 },
		{ sizeof(struct ctl_msg) + 1, 2 }, { sizeof(bytes), 1 },
		{ sizeof(struct ctl_msg), CTL_FDS_MAX + 1 }, { sizeof(struct ctl_msg), 128 },
		{ 0, 1 } };
	struct ctl_msg got;
	int fds[CTL_FDS_MAX], nfds = -1, before = open_fds();

	send_fds(pair[0], bytes, cases[_i].n, pair[0], cases[_i].nfds);
	ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), -EPROTO);
	ck_assert_int_eq(nfds, 0);
	/* A thread closes them. */
	for (int i = 0; i < 1000 && open_fds() != before; i++)
		usleep(10000);
	ck_assert_int_eq(open_fds(), before);
}

/* Where there is no descriptor left, the message is lost, and nothing else. */
TEST_EACH(no_descriptors_left, 3)
{
	const struct ctl_msg sent = { .type = CTL_IMAGE, .arg = 3 };
	struct rlimit old, none;
	struct ctl_msg got;
	int fds[3] = { 0, 0, 0 }, back[CTL_FDS_MAX], nfds = -1, before = open_fds();

	ck_assert_int_eq(ctl_send(pair[0], &sent, fds, 3), 0);
	ck_assert_int_eq(ctl_send(pair[0], &sent, fds, 2), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)dup(0);
	close((int)none.rlim_cur);
	none.rlim_cur += (rlim_t)_i;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(ctl_recv(pair[1], &got, back, &nfds), -EMFILE);
	ck_assert_int_eq(nfds, 0);
	ck_assert_uint_eq(got.type, CTL_IMAGE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (int i = 0; i < 1000 && open_fds() != before; i++)
		usleep(10000);
	ck_assert_int_eq(open_fds(), before);
	ck_assert_int_eq(ctl_recv(pair[1], &got, back, &nfds), 1);
	ck_assert_int_eq(nfds, 2);
}

TEST(full)
{
	const struct ctl_msg msg = { .type = CTL_UP };
	struct ctl_msg got;
	int fds[CTL_FDS_MAX], nfds, sent = 0, r;

	while ((r = ctl_send(pair[0], &msg, NULL, 0)) == 0)
		ck_assert_int_lt(sent++, 1000000);
	ck_assert_int_eq(r, -EAGAIN);
	ck_assert_int_gt(sent, 0);
	for (; sent > 0; sent--)
		ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), 1);
	ck_assert_int_eq(ctl_send(pair[0], &msg, NULL, 0), 0);
}

/* The end comes behind what was sent; also if the dead side had not read what we sent it. */
TEST_EACH(end_of_file, 2)
{
	const struct ctl_msg msg = { .type = CTL_UP, .arg = 5 };
	struct ctl_msg got;
	int fds[CTL_FDS_MAX], nfds;

	ck_assert_int_eq(ctl_send(pair[0], &msg, NULL, 0), 0);
	if (_i == 1)
		ck_assert_int_eq(ctl_send(pair[1], &msg, NULL, 0), 0);
	close(pair[0]);
	ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), 1);
	ck_assert_uint_eq(got.arg, 5);
	ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), 0);
	ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), 0);
	ck_assert_int_eq(ctl_send(pair[1], &msg, NULL, 0), -EPIPE);
	pair[0] = dup(pair[1]);
}

/* --- the link --------------------------------------------------------------------------------- */

static void send_type(uint32_t type, const int *fds, int nfds)
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
	send_type(CTL_LOGS, fds, 3);
	send_type(CTL_DRAIN, NULL, 0);
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
	send_type(CTL_LISTEN, fds, 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	turn();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
	ck_assert_uint_eq(ntypes, 0);
	ck_assert_uint_eq(link_end.lost, CTL_TYPE(CTL_LISTEN));
	ctl_link_look(&link_end);
	ck_assert_int_eq(ctl_recv(pair[0], &msg, came, &n), -EAGAIN);
	link_end.lost_ms = 0; /* long ago */
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
	send_type(CTL_DRAIN, NULL, 0);
	close(pair[0]);
	turn();
	turn();
	ck_assert_uint_eq(ntypes, 1);
	ck_assert_int_eq(gone, 1);
	ck_assert(!link_end.watch.active);
	pair[0] = dup(pair[1]); /* for teardown() */
}
