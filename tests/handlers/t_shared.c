/*
 * t_shared: does what an attacker in control of a worker could do to memory shared with others. GET
 * /t/shared/{what}?ARG, in the worker itself: shutdown, unconnect (the same, by another call) and
 * block (waiting again) of its listening sockets, of ARG (tcp or unix); steer, filter and option
 * (LEVEL,NAME,VALUE) of the TCP ones; fastopen of one to the port ARG; a datagram to the unix
 * socket ARG; affinity of process ARG and owner, signals to it; doubts, shutdown of where the
 * keeper is told of changes; say, COUNT messages to the master (TYPE,SIZE,COUNT); linger, a socket
 * to the port ARG that is the master's to close; flight, descriptors in flight. Answers "done", or
 * the name of the error.
 */
#define _GNU_SOURCE /* strerrorname_np() */
#include "tries.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { DESCRIPTORS = 256, MESSAGE_MAX = 4096, FDS_MAX = 253, CTL_SIZE = 40 + 256 };

static int get_int(int fd, int name)
{
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, name, &value, &(socklen_t){ sizeof(value) }) < 0 ? -1
											   : value;
}

static int closed(int fd)
{
	int errnum = errno;

	close(fd);
	errno = errnum;
	return -1;
}

/* --- listening sockets ------------------------------------------------------------------------ */

static bool listens(int fd, int family)
{
	return get_int(fd, SO_ACCEPTCONN) == 1 && get_int(fd, SO_DOMAIN) == family;
}

/* Calls fn for each of them: 0 if it succeeded for one, else -1 with errno. */
static int each(int family, int (*fn)(int fd, const void *arg), const void *arg)
{
	int rc = -1;

	errno = ENOENT;
	for (int fd = 3; fd < DESCRIPTORS; fd++) {
		int errnum = errno;

		if (listens(fd, family) && fn(fd, arg) == 0)
			rc = 0;
		else if (errno == ENOTSOCK || errno == EBADF)
			errno = errnum;
	}
	return rc;
}

static int family_of(const char *arg)
{
	return strcmp(arg, "unix") == 0 ? AF_UNIX : AF_INET;
}

static int shut(int fd, const void *arg)
{
	(void)arg;
	return shutdown(fd, SHUT_RDWR);
}

static int try_shutdown(const char *arg)
{
	return each(family_of(arg), shut, NULL);
}

static int unconnect(int fd, const void *arg)
{
	const struct sockaddr to = { .sa_family = AF_UNSPEC };

	(void)arg;
	return connect(fd, &to, sizeof(to));
}

static int try_unconnect(const char *arg)
{
	return each(family_of(arg), unconnect, NULL);
}

static int unset_nonblock(int fd, const void *arg)
{
	(void)arg;
	return fcntl(fd, F_SETFL, 0);
}

static int try_block(const char *arg)
{
	return each(family_of(arg), unset_nonblock, NULL);
}

static int attach(int fd, const void *name)
{
	struct sock_filter nobody = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = { .len = 1, .filter = &nobody };

	return setsockopt(fd, SOL_SOCKET, *(const int *)name, &prog, sizeof(prog));
}

static int try_steer(const char *arg)
{
	(void)arg;
	return each(AF_INET, attach, &(int){ SO_ATTACH_REUSEPORT_CBPF });
}

static int try_filter(const char *arg)
{
	(void)arg;
	return each(AF_INET, attach, &(int){ SO_ATTACH_FILTER });
}

static int set_option(int fd, const void *arg)
{
	const int *option = arg;

	return setsockopt(fd, option[0], option[1], &option[2], sizeof(int));
}

static int try_option(const char *arg)
{
	int option[3];

	if (sscanf(arg, "%d,%d,%d", &option[0], &option[1], &option[2]) != 3)
		return -1;
	return each(AF_INET, set_option, option);
}

/* A listening socket that was shut down may make a connection, by its first byte. */
static int connect_by(int fd, const void *to)
{
	if (shutdown(fd, SHUT_RDWR) < 0)
		return -1;
	return sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, to, sizeof(struct sockaddr_in)) == 1
		       ? 0
		       : -1;
}

static int try_fastopen(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };

	return each(AF_INET, connect_by, &to);
}

/* --- other processes -------------------------------------------------------------------------- */

static int try_datagram(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (sendto(ends[0], "x", 1, MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return closed(ends[0]), closed(ends[1]);
	close(ends[1]);
	return close(ends[0]);
}

static int try_affinity(const char *pid)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return sched_setaffinity(atoi(pid), sizeof(one), &one);
}

static int try_owner(const char *pid)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	if (fcntl(ends[0], F_SETOWN, atoi(pid)) < 0 || fcntl(ends[0], F_SETSIG, 15) < 0)
		return closed(ends[0]), closed(ends[1]);
	close(ends[1]);
	return close(ends[0]);
}

/* Waits for room in the queue, so that the master has read what it does not hold. */
static int say(int fd, const char *message, size_t size, unsigned count)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	while (count > 0)
		if (send(fd, message, size, MSG_NOSIGNAL) >= 0)
			count--;
		else if (errno != EAGAIN || poll(&room, 1, -1) < 0)
			return -1;
	return 0;
}

/* The control socket is the last of its kind that the master has made. */
static int control_socket(void)
{
	struct ucred by;
	int last = -1;

	for (int fd = 3; fd < DESCRIPTORS; fd++)
		if (get_int(fd, SO_TYPE) == SOCK_SEQPACKET &&
			getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &by, &(socklen_t){ sizeof(by) }) ==
				0 &&
			by.pid != getpid())
			last = fd;
	return last;
}

static int try_say(const char *arg)
{
	char message[MESSAGE_MAX] = { 0 };
	unsigned type, size, count;

	if (sscanf(arg, "%u,%u,%u", &type, &size, &count) != 3 || size > sizeof(message))
		return -1;
	memcpy(message, &type, sizeof(type));
	return say(control_socket(), message, size, count);
}

/* The ends that all workers write doubts to: pairs of the master's that are not the control socket.
 */
static int try_doubts(const char *arg)
{
	int control = control_socket(), rc = -1;
	struct ucred by;

	(void)arg;
	errno = ENOENT;
	for (int fd = 3; fd < control; fd++)
		if (get_int(fd, SO_TYPE) == SOCK_SEQPACKET &&
			getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &by, &(socklen_t){ sizeof(by) }) ==
				0 &&
			by.pid != getpid())
			rc = shutdown(fd, SHUT_WR);
	return rc;
}

/* --- descriptors ------------------------------------------------------------------------------ */

static int send_fds(int to, const char *message, size_t size, const int *fds, size_t nfds)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = size };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = CMSG_SPACE(nfds * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&mh);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	return sendmsg(to, &mh, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* As many in flight as it may have: they stay so until this process ends. */
static int try_flight(const char *arg)
{
	int fds[FDS_MAX] = { 0 }, ends[2];

	(void)arg;
	do {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
			return -1;
		while (send_fds(ends[0], "x", 1, fds, FDS_MAX) == 0)
			;
	} while (errno == EAGAIN);
	return -1;
}

/* A socket with bytes that nobody reads, whose last holder waits for them when it closes it. */
static int lingering(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct linger linger = { .l_onoff = 1, .l_linger = 60 };
	static const char bytes[1 << 16];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
		return closed(fd);
	while (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* To the master, which has to close what it has got. */
static int try_linger(const char *port)
{
	static const char message[CTL_SIZE] = { 31 };
	int fd = lingering(port), rc;

	if (fd < 0)
		return -1;
	rc = send_fds(control_socket(), message, sizeof(message), &fd, 1);
	return close(fd) == 0 ? rc : -1;
}

static const struct try tries[] = {
	{ "shutdown", try_shutdown },
	{ "unconnect", try_unconnect },
	{ "block", try_block },
	{ "steer", try_steer },
	{ "filter", try_filter },
	{ "option", try_option },
	{ "fastopen", try_fastopen },
	{ "datagram", try_datagram },
	{ "affinity", try_affinity },
	{ "owner", try_owner },
	{ "say", try_say },
	{ "doubts", try_doubts },
	{ "flight", try_flight },
	{ "linger", try_linger },
};

static void start(struct h2d_req *req, void *state)
{
	(void)state;
	tries_start(req, tries, sizeof(tries) / sizeof(tries[0]));
}

const struct h2d_handler h2d_handler_t_shared = {
	.name = "t_shared",
	.start = start,
};
