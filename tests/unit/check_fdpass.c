/*
 * check_fdpass: connections through an inbox: batches, addresses, what is malformed or torn, the
 * end, a process without descriptors; what waits is counted and outlives its receiver.
 */
#include "ipc/fdpass.h"

#include <sys/resource.h>

#include "fds_unit.h"
#include "ipc/ctl.h"
#include "unit.h"

static int inbox[2];

UNIT_SETUP(setup)
{
	ck_assert_int_eq(scm_pair(inbox), 0);
}

UNIT_TEARDOWN(teardown)
{
	close(inbox[0]);
	close(inbox[1]);
}

static int new_file(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct addr address(const char *text)
{
	struct addr a;

	ck_assert_ptr_null(addr_parse(text, &a));
	return a;
}

/* Sends n connections of listeners from first on, and closes them as the acceptor does. */
static void send_some(unsigned first, unsigned n)
{
	struct fdpass conns[FDPASS_MAX] = { 0 };

	for (unsigned i = 0; i < n; i++)
		conns[i] = (struct fdpass){
			.fd = new_file(), .listener = first + i, .peer = address("192.0.2.1:80")
		};
	ck_assert_int_eq(fdpass_send(inbox[1], conns, n), (int)n);
	for (unsigned i = 0; i < n; i++)
		close(conns[i].fd);
}

static void close_all(const struct fdpass *conns, int n)
{
	for (int i = 0; i < n; i++)
		if (conns[i].fd >= 0)
			close(conns[i].fd);
}

TEST(one_connection)
{
	struct fdpass in = { .fd = new_file(), .listener = 7 }, out;
	struct stat a, b;

	in.peer = address("[2001:db8::1]:443");
	ck_assert_int_eq(fdpass_send(inbox[1], &in, 1), 1);
	ck_assert_int_eq(fdpass_recv(inbox[0], &out, 1), 1);
	ck_assert_uint_eq(out.listener, 7);
	ck_assert(addr_equal(&out.peer, &in.peer));
	ck_assert_int_eq(fstat(in.fd, &a), 0);
	ck_assert_int_eq(fstat(out.fd, &b), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert(fcntl(out.fd, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_eq(fdpass_recv(inbox[0], &out, 1), -EAGAIN);
	close(in.fd);
}

TEST(peers_of_each_family)
{
	static const char *const texts[] = { "192.0.2.1:80", "[::1]:1", "unix:/run/client" };

	for (unsigned i = 0; i < 3; i++) {
		struct fdpass in = { .fd = inbox[0], .peer = address(texts[i]) }, out;

		ck_assert_int_eq(fdpass_send(inbox[1], &in, 1), 1);
		ck_assert_int_eq(fdpass_recv(inbox[0], &out, 1), 1);
		ck_assert_int_eq(out.peer.sa.sa_family, in.peer.sa.sa_family);
		ck_assert(in.peer.sa.sa_family == AF_UNIX || addr_equal(&out.peer, &in.peer));
		close(out.fd);
	}
}

TEST(a_batch_is_taken_in_parts)
{
	struct fdpass out[FDPASS_MAX];
	int before = open_fds();

	send_some(1, FDPASS_MAX);
	ck_assert_uint_eq(fdpass_waiting(inbox[0]), FDPASS_MAX);
	ck_assert_int_eq(fdpass_recv(inbox[0], out, 3), 3);
	ck_assert_uint_eq(out[0].listener, 1);
	ck_assert_uint_eq(out[2].listener, 3);
	ck_assert_uint_eq(fdpass_waiting(inbox[0]), FDPASS_MAX - 3);
	close_all(out, 3);
	ck_assert_int_eq(fdpass_recv(inbox[0], out, FDPASS_MAX), FDPASS_MAX - 3);
	ck_assert_uint_eq(out[0].listener, 4);
	close_all(out, FDPASS_MAX - 3);
	ck_assert_uint_eq(fdpass_waiting(inbox[0]), 0);
	ck_assert_int_eq(open_fds(), before);
}

TEST(what_waits_outlives_who_would_have_received)
{
	int held = dup(inbox[0]);
	struct fdpass out;

	send_some(1, 1);
	close(inbox[0]);
	inbox[0] = held;
	ck_assert_int_eq(fdpass_recv(inbox[0], &out, 1), 1);
	ck_assert_uint_eq(out.listener, 1);
	close(out.fd);
}

TEST(the_end_comes_behind_what_waits)
{
	struct fdpass out[FDPASS_MAX];

	send_some(1, 2);
	close(inbox[1]);
	ck_assert_int_eq(fdpass_recv(inbox[0], out, FDPASS_MAX), 2);
	close_all(out, 2);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(fdpass_recv(inbox[0], out, FDPASS_MAX), 0);
	inbox[1] = -1;
}

TEST(full)
{
	struct fdpass in[FDPASS_MAX], out[FDPASS_MAX];
	int before = open_fds(), rc, n = 0;

	for (unsigned i = 0; i < FDPASS_MAX; i++)
		in[i] = (struct fdpass){ .fd = inbox[0], .peer = address("192.0.2.1:80") };
	while ((rc = fdpass_send(inbox[1], in, FDPASS_MAX)) > 0)
		n += rc;
	ck_assert_int_eq(rc, -EAGAIN);
	ck_assert_int_gt(n, FDPASS_MAX);
	ck_assert_uint_eq(fdpass_waiting(inbox[0]), (unsigned)n);
	while ((rc = fdpass_recv(inbox[0], out, FDPASS_MAX)) > 0) {
		close_all(out, rc);
		n -= rc;
	}
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(open_fds(), before);
}

/* --- what is wrong ---------------------------------------------------------------------------- */

/* A message as fdpass_send() writes it: listener, length of the address, address. */
struct message {
	uint32_t listener, len;
	struct sockaddr_in6 peer;
};

TEST(torn_messages_cost_no_descriptor)
{
	struct message m = { 1, sizeof(struct sockaddr_in), { .sin6_family = AF_INET } };
	char more[sizeof(m) + 1] = { 0 };
	struct fdpass out[FDPASS_MAX];
	int before = open_fds();

	send_fds(inbox[1], &m, sizeof(m) - 1, inbox[0], 1); /* too short */
	send_fds(inbox[1], more, sizeof(more), inbox[0], 1);
	send_fds(inbox[1], &m, sizeof(m), inbox[0], 0); /* without a connection */
	send_fds(inbox[1], &m, sizeof(m), inbox[0], 2);
	m.len = sizeof(m.peer) + 1; /* addresses that are none */
	send_fds(inbox[1], &m, sizeof(m), inbox[0], 1);
	m.len = sizeof(struct sockaddr_in) - 1;
	send_fds(inbox[1], &m, sizeof(m), inbox[0], 1);
	m.len = 0;
	send_fds(inbox[1], &m, sizeof(m), inbox[0], 1);
	m.len = sizeof(struct sockaddr_in);
	send_fds(inbox[1], &m, sizeof(m), inbox[0], 1); /* a good one behind them */
	ck_assert_int_eq(fdpass_recv(inbox[0], out, FDPASS_MAX), 8);
	for (int i = 0; i < 7; i++)
		ck_assert_msg(out[i].fd == -1, "message %d", i);
	ck_assert_int_ge(out[7].fd, 0);
	ck_assert_uint_eq(out[7].listener, 1);
	close(out[7].fd);
	ck_assert_int_eq(open_fds(), before);
}

/* Leaves room for n descriptors. */
static void limit(unsigned n)
{
	int free[FDPASS_MAX + 1];
	struct rlimit r;

	for (unsigned i = 0; i <= n; i++)
		free[i] = dup(0);
	r.rlim_cur = r.rlim_max = (rlim_t)free[n];
	for (unsigned i = 0; i <= n; i++)
		close(free[i]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
}

TEST(room_is_what_there_is)
{
	limit(3);
	ck_assert_uint_eq(fdpass_room(inbox[0], FDPASS_MAX, 0), 3);
	ck_assert_uint_eq(fdpass_room(inbox[0], 2, 0), 2);
	ck_assert_uint_eq(fdpass_room(inbox[0], 2, 2), 1);
	ck_assert_uint_eq(fdpass_room(inbox[0], 2, 4), 0);
	limit(0);
	ck_assert_uint_eq(fdpass_room(inbox[0], 1, 0), 0);
}

TEST(who_asks_for_no_more_than_there_is_room_loses_none)
{
	struct fdpass out[FDPASS_MAX];
	unsigned room;

	send_some(1, 5);
	limit(2);
	for (uint32_t next = 1; next <= 5; next += room) {
		room = fdpass_room(inbox[0], FDPASS_MAX, 0);
		ck_assert_uint_eq(room, 2);
		room = (unsigned)fdpass_recv(inbox[0], out, room);
		ck_assert_uint_eq(out[0].listener, next);
		ck_assert_int_ge(out[room - 1].fd, 0);
		close_all(out, (int)room);
	}
}

/* As threads that open files do. */
TEST(descriptors_are_taken_meanwhile)
{
	struct fdpass out[FDPASS_MAX];
	int files[FDPASS_SPARE], n;
	unsigned room;

	send_some(1, 5);
	limit(FDPASS_SPARE + 2);
	room = fdpass_room(inbox[0], FDPASS_MAX, FDPASS_SPARE);
	for (int i = 0; i < FDPASS_SPARE; i++)
		files[i] = new_file();
	n = fdpass_recv(inbox[0], out, room);
	ck_assert_int_gt(n, 0);
	ck_assert_int_ge(out[n - 1].fd, 0);
	close_all(out, n);
	for (int i = 0; i < FDPASS_SPARE; i++)
		close(files[i]);
}

TEST(a_lost_descriptor_is_said)
{
	struct fdpass out[FDPASS_MAX];

	send_some(1, 3);
	limit(1);
	ck_assert_int_eq(fdpass_recv(inbox[0], out, FDPASS_MAX), 3);
	ck_assert_int_ge(out[0].fd, 0);
	ck_assert_int_eq(out[1].fd, -1);
	ck_assert_int_eq(out[2].fd, -1);
}
