/*
 * check_listener: slots share a port and nobody else does; options reach accepted sockets; slots
 * come and go; unix socket files are replaced only when stale and removed only by their maker.
 */
#include "net/listener.h"

#include <netinet/tcp.h>

#include "fds_unit.h"
#include "tree_unit.h"

static struct listener l;
static struct addr addr;
static char err[256];
static char path[sizeof(tree) + 2], text[sizeof(path) + 5];

UNIT_SETUP(setup)
{
	snprintf(path, sizeof(path), "%s/s", tree);
	snprintf(text, sizeof(text), "unix:%s", path);
}

UNIT_TEARDOWN(teardown)
{
	listener_close(&l);
}

static void parse(const char *s)
{
	ck_assert_ptr_null(addr_parse(s, &addr));
}

static void opens(const char *s, unsigned nslots)
{
	parse(s);
	ck_assert_msg(listener_open(&l, &addr, nslots, 0600, err, sizeof(err)) == 0, "%s", err);
}

static void opens_not(const char *said)
{
	ck_assert_int_eq(listener_open(&l, &addr, 1, 0600, err, sizeof(err)), -1);
	ck_assert_msg(strstr(err, said) != NULL, "%s", err);
}

static int get_int(int fd, int level, int name)
{
	int value = -1;

	ck_assert_int_eq(getsockopt(fd, level, name, &value, &(socklen_t){ sizeof(value) }), 0);
	return value;
}

/* A blocking client. */
static int dial(const struct addr *to)
{
	int fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, &to->sa, to->len), 0);
	return fd;
}

/* Accepts one connection from whichever slot has it; *slot says which. */
static int take(unsigned *slot)
{
	struct pollfd p[16];
	int fd;

	for (unsigned i = 0; i < l.nslots; i++)
		p[i] = (struct pollfd){ .fd = l.fds[i], .events = POLLIN };
	ck_assert_int_gt(poll(p, l.nslots, 30000), 0);
	for (*slot = 0; (p[*slot].revents & POLLIN) == 0; ++*slot)
		;
	fd = accept(l.fds[*slot], NULL, NULL);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static const char *const any_port[] = { "127.0.0.1:0", "[::1]:0" };

/* How many of them this machine has. */
static int any_ports(void)
{
	const struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool has = bind(fd, (const struct sockaddr *)&sin6, sizeof(sin6)) == 0;

	close(fd);
	return has ? 2 : 1;
}

TEST_EACH(slots, any_ports())
{
	unsigned used = 0, slot;

	opens(any_port[_i], 4);
	ck_assert_uint_eq(l.nslots, 4);
	ck_assert_uint_ne(l.addr.in.sin_port, 0);
	for (unsigned i = 0; i < 4; i++) {
		struct addr own = { .len = sizeof(own.storage) };

		ck_assert_int_eq(getsockname(l.fds[i], &own.sa, &own.len), 0);
		ck_assert(addr_equal(&own, &l.addr));
		ck_assert(fcntl(l.fds[i], F_GETFD) & FD_CLOEXEC);
		ck_assert(fcntl(l.fds[i], F_GETFL) & O_NONBLOCK);
		ck_assert_int_eq(get_int(l.fds[i], SOL_SOCKET, SO_REUSEPORT), 1);
		ck_assert_int_eq(get_int(l.fds[i], SOL_SOCKET, SO_REUSEADDR), 1);
		ck_assert_int_eq(get_int(l.fds[i], SOL_SOCKET, SO_ACCEPTCONN), i == 0);
	}
	/* Until all listen, the first has all. */
	for (int i = 0; i < 32; i++) {
		int client = dial(&l.addr), fd = accept(l.fds[0], NULL, NULL);

		ck_assert_int_ge(fd, 0);
		close(fd);
		close(client);
	}
	ck_assert_int_eq(listener_listen(&l, err, sizeof(err)), 0);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(get_int(l.fds[i], SOL_SOCKET, SO_ACCEPTCONN), 1);
	for (int i = 0; i < 64; i++) {
		int client = dial(&l.addr), fd = take(&slot);

		used |= 1u << slot;
		ck_assert_int_eq(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
		ck_assert_int_eq(get_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 128 * 1024);
		close(fd);
		close(client);
	}
	/* 64 connections that leave one of four slots empty: once in 25 million. */
	ck_assert_uint_eq(used, 0xf);
}

/* Neither another listener of ours nor a stranger that would share is shared with. */
TEST_EACH(in_use, any_ports())
{
	struct listener second;
	int fd, fds, on = 1;

	opens(any_port[_i], 2);
	fds = open_fds();
	ck_assert_int_eq(listener_open(&second, &l.addr, 2, 0, err, sizeof(err)), -1);
	ck_assert_msg(strstr(err, "listen ") == err && strstr(err, "already in use"), "%s", err);
	ck_assert_int_eq(open_fds(), fds);
	addr = l.addr;
	listener_close(&l);
	ck_assert_int_eq(listener_open(&l, &addr, 2, 0, err, sizeof(err)), 0);
	listener_close(&l);

	fd = socket(addr.sa.sa_family, SOCK_STREAM, 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	ck_assert_int_eq(bind(fd, &addr.sa, addr.len), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(listener_open(&l, &addr, 2, 0, err, sizeof(err)), -1);
	ck_assert_ptr_nonnull(strstr(err, "already in use"));
	close(fd);
}

TEST(both_families_on_one_port)
{
	struct listener six;

	opens("0.0.0.0:0", 2);
	parse("[::]:0");
	addr.in6.sin6_port = l.addr.in.sin_port;
	ck_assert_msg(listener_open(&six, &addr, 2, 0, err, sizeof(err)) == 0, "%s", err);
	listener_close(&six);
}

TEST(foreign_address)
{
	parse("192.0.2.1:0");
	ck_assert_int_eq(listener_open(&l, &addr, 2, 0, err, sizeof(err)), -1);
	ck_assert_str_eq(err, "listen 192.0.2.1:0: this machine has no such address");
	ck_assert_uint_eq(l.nslots, 0);
	listener_close(&l);
}

TEST(resize)
{
	int fds, first;
	unsigned slot;

	opens("127.0.0.1:0", 2);
	fds = open_fds();
	first = l.fds[0];
	ck_assert_int_eq(listener_resize(&l, 7, err, sizeof(err)), 0);
	ck_assert_uint_eq(l.nslots, 7);
	ck_assert_int_eq(open_fds(), fds + 5);
	ck_assert_int_eq(listener_resize(&l, 1, err, sizeof(err)), 0);
	ck_assert_int_eq(open_fds(), fds - 1);
	ck_assert_int_eq(l.fds[0], first);
	/* A slot that is closed swallows nothing. */
	for (int i = 0; i < 32; i++) {
		int client = dial(&l.addr), fd = take(&slot);

		close(fd);
		close(client);
	}
	ck_assert_int_eq(listener_resize(&l, 3, err, sizeof(err)), 0);
	ck_assert_int_eq(open_fds(), fds + 1);
	listener_close(&l);
	ck_assert_int_eq(open_fds(), fds - 2);
}

TEST(unix_socket)
{
	mode_t mask = umask(0027);
	struct stat st;
	int client, fd, fds;
	unsigned slot;

	parse(text);
	fds = open_fds();
	ck_assert_msg(listener_open(&l, &addr, 3, 0666, err, sizeof(err)) == 0, "%s", err);
	ck_assert_int_eq(umask(mask), 0027);
	ck_assert_int_eq(open_fds(), fds + 1);
	ck_assert_int_eq(l.fds[0], l.fds[2]);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0666);
	client = dial(&l.addr);
	fd = take(&slot);
	close(fd);
	close(client);
	ck_assert_int_eq(listener_resize(&l, 1, err, sizeof(err)), 0);
	ck_assert_int_eq(listener_resize(&l, 5, err, sizeof(err)), 0);
	ck_assert_int_eq(l.fds[4], l.fds[0]);
	ck_assert_int_eq(open_fds(), fds + 1);
	listener_close(&l);
	ck_assert_int_eq(open_fds(), fds);
	ck_assert_int_eq(lstat(path, &st), -1);
}

TEST(unix_live_and_stale)
{
	struct listener second;
	struct stat st;
	int fd;

	opens(text, 1);
	ck_assert_int_eq(listener_open(&second, &addr, 1, 0600, err, sizeof(err)), -1);
	ck_assert_msg(strstr(err, text) && strstr(err, "already in use"), "%s", err);
	ck_assert_int_eq(lstat(path, &st), 0);

	/* A crash leaves the file. */
	close(l.fds[0]);
	free(l.fds);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_msg(listener_open(&l, &addr, 1, 0600, err, sizeof(err)) == 0, "%s", err);
	fd = dial(&addr);
	close(fd);
}

/* A live server whose queue is full answers EAGAIN: that is no stale file. */
TEST(unix_full_queue)
{
	struct addr full;
	int server = socket(AF_UNIX, SOCK_STREAM, 0), clients[8];

	ck_assert_ptr_null(addr_parse(text, &full));
	ck_assert_int_eq(bind(server, &full.sa, full.len), 0);
	ck_assert_int_eq(listen(server, 0), 0);
	for (int i = 0; i < 8; i++) {
		clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(clients[i], &full.sa, full.len) < 0)
			ck_assert_int_eq(errno, EAGAIN);
	}
	ck_assert_int_eq(listener_open(&l, &full, 1, 0600, err, sizeof(err)), -1);
	ck_assert_msg(strstr(err, "already in use") != NULL, "%s", err);
}

TEST(unix_other_file)
{
	struct stat st;
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	close(fd);
	parse(text);
	opens_not("not a socket");
	ck_assert_int_eq(lstat(path, &st), 0);
	unlink(path);

	parse("unix:/nonexistent/s");
	opens_not("No such file");
}

/* Another process has replaced the file meanwhile: it is not ours to remove. */
TEST(unix_keeps_what_others_made)
{
	struct stat st;
	int fd;

	opens(text, 1);
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	listener_close(&l);
	ck_assert_int_eq(lstat(path, &st), 0);
}

/* --- what an attacker in control of a worker may have done ------------------------------------ */

static void mend(unsigned slot, int outcome)
{
	ck_assert(!listener_stands(&l, slot));
	ck_assert_msg(listener_mend(&l, slot, 0600, err, sizeof(err)) == outcome, "%s", err);
	ck_assert(listener_stands(&l, slot));
}

/* The port that the kernel chose is not lost, nor that of a slot that was bound to it. */
TEST(mend_tcp)
{
	opens("127.0.0.1:0", 2);
	ck_assert_int_eq(listener_listen(&l, err, sizeof(err)), 0);
	for (unsigned k = 0; k < 2; k++) {
		ck_assert(listener_stands(&l, k));
		shutdown(l.fds[k], SHUT_RDWR);
		mend(k, 0);
	}
	for (unsigned k = 0; k < 2; k++) {
		shutdown(l.fds[1 - k], SHUT_RDWR);
		close(dial(&l.addr));
		mend(1 - k, 0);
	}
}

/* Out of a socket that was shut down somebody made a connection: MSG_FASTOPEN needs no connect(2).
 */
TEST(mend_connected)
{
	int fd;

	opens("127.0.0.1:0", 2);
	ck_assert_int_eq(listener_listen(&l, err, sizeof(err)), 0);
	shutdown(l.fds[0], SHUT_RDWR);
	connect(l.fds[0], &l.addr.sa, l.addr.len);
	mend(0, 0);
	shutdown(l.fds[1], SHUT_RDWR);
	fd = dial(&l.addr);
	close(fd);
}

TEST(mend_waiting)
{
	opens("127.0.0.1:0", 1);
	ck_assert_int_eq(fcntl(l.fds[0], F_SETFL, 0), 0);
	mend(0, 0);
	ck_assert_int_ne(fcntl(l.fds[0], F_GETFL) & O_NONBLOCK, 0);
}

/* Another socket, by the same descriptor; its file is ours again. */
TEST(mend_unix)
{
	int fd;

	opens(text, 3);
	fd = l.fds[0];
	for (int how = SHUT_RD; how <= SHUT_RDWR; how += 2) {
		shutdown(fd, how);
		mend(0, 1);
		ck_assert_int_eq(l.fds[2], fd);
		close(dial(&l.addr));
	}
	listener_close(&l);
	ck_assert_int_eq(access(path, F_OK), -1);
}

/* Of somebody else's file: nothing is unlinked. */
TEST(mend_unix_of_others)
{
	opens(text, 1);
	l.mine = false;
	shutdown(l.fds[0], SHUT_RDWR);
	ck_assert_int_eq(listener_mend(&l, 0, 0600, err, sizeof(err)), -1);
	ck_assert_int_eq(access(path, F_OK), 0);
}
