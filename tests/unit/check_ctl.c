/* check_ctl: messages and descriptors over the pair; what is malformed costs no descriptor. */
#include "ipc/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fds_unit.h"
#include "unit.h"

static int pair[2];

static void setup(void)
{
	ck_assert_int_eq(ctl_pair(pair), 0);
}

static void teardown(void)
{
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

/* Sends n bytes with nfds copies of fd, past ctl_send's own checks. */
static void send_raw(void *p, size_t n, int fd, int nfds)
{
	struct iovec iov = { .iov_base = p, .iov_len = n };
	char buf[CMSG_SPACE(128 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *head = (struct cmsghdr *)(void *)buf;

	if (nfds > 0) {
		mh.msg_control = head;
		mh.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
		for (size_t i = 0; i < (size_t)nfds; i++)
			memcpy(CMSG_DATA(head) + i * sizeof(fd), &fd, sizeof(fd));
	}
	ck_assert_int_eq(sendmsg(pair[0], &mh, MSG_NOSIGNAL), (int)n);
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
	const struct ctl_msg sent = { CTL_DRAIN, .generation = 7, .arg = 1ull << 40, .size = 9 };
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

	send_raw(bytes, cases[_i].n, pair[0], cases[_i].nfds);
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

/* They are asked for once, together, and not at once. */
TEST(lost_messages_are_asked_for)
{
	static const struct ctl_msg image = { .type = CTL_IMAGE }, logs = { .type = CTL_LOGS };
	struct ctl_lost lost = { 0 };
	struct ctl_msg got;
	int fds[CTL_FDS_MAX], nfds;

	ctl_lost_ask(&lost, pair[1], 100000);
	ctl_lost_note(&lost, &image, 100000);
	ctl_lost_note(&lost, &logs, 100100);
	ctl_lost_ask(&lost, pair[1], 100500);
	ck_assert_int_eq(ctl_recv(pair[0], &got, fds, &nfds), -EAGAIN);
	ctl_lost_ask(&lost, pair[1], 101100);
	ck_assert_int_eq(ctl_recv(pair[0], &got, fds, &nfds), 1);
	ck_assert_uint_eq(got.type, CTL_AGAIN);
	ck_assert_uint_eq(got.arg, CTL_TYPE(CTL_IMAGE) | CTL_TYPE(CTL_LOGS));
	ctl_lost_ask(&lost, pair[1], 105000);
	ck_assert_int_eq(ctl_recv(pair[0], &got, fds, &nfds), -EAGAIN);
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
	const struct ctl_msg msg = { .type = CTL_UP, .generation = 5 };
	struct ctl_msg got;
	int fds[CTL_FDS_MAX], nfds;

	ck_assert_int_eq(ctl_send(pair[0], &msg, NULL, 0), 0);
	if (_i == 1)
		ck_assert_int_eq(ctl_send(pair[1], &msg, NULL, 0), 0);
	close(pair[0]);
	ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), 1);
	ck_assert_uint_eq(got.generation, 5);
	ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), 0);
	ck_assert_int_eq(ctl_recv(pair[1], &got, fds, &nfds), 0);
	ck_assert_int_eq(ctl_send(pair[1], &msg, NULL, 0), -EPIPE);
	pair[0] = dup(pair[1]);
}

UNIT_FIXTURE(setup, teardown)

UNIT_MAIN("ctl")
