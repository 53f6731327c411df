/*
 * fdpass: a malformed message is returned as a connection without a descriptor: its descriptor is
 * closed here and never reaches the caller.
 */
#include "ipc/fdpass.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/scm.h"

/* The content of a message; of a unix peer only the family. */
struct wire {
	uint32_t listener;
	uint32_t peer_len;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} peer;
};

/* One call's messages, and the memory of their headers. */
struct batch {
	struct mmsghdr headers[FDPASS_MAX];
	struct iovec iov[FDPASS_MAX];
	struct wire wire[FDPASS_MAX];
	union scm_control control[FDPASS_MAX];
};

static void batch_init(struct batch *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		b->iov[i] =
			(struct iovec){ .iov_base = &b->wire[i], .iov_len = sizeof(b->wire[i]) };
		b->headers[i].msg_hdr = (struct msghdr){ .msg_iov = &b->iov[i],
			.msg_iovlen = 1,
			.msg_control = b->control[i].buf,
			/* Not CMSG_SPACE: its padding has room for a second descriptor. */
			.msg_controllen = CMSG_LEN(sizeof(int)) };
	}
}

/* --- sending ---------------------------------------------------------------------------------- */

static void write_wire(struct wire *w, const struct fdpass *c)
{
	*w = (struct wire){ .listener = c->listener };
	w->peer_len = c->peer.len <= sizeof(w->peer) ? c->peer.len : sizeof(sa_family_t);
	if (c->peer.sa.sa_family == AF_UNIX)
		w->peer_len = sizeof(sa_family_t);
	memcpy(&w->peer, &c->peer.storage, w->peer_len);
}

int fdpass_send(int fd, const struct fdpass *conns, unsigned n)
{
	struct batch b;
	int rc;

	H2D_ASSERT(n > 0 && n <= FDPASS_MAX);
	batch_init(&b, n);
	for (unsigned i = 0; i < n; i++) {
		write_wire(&b.wire[i], &conns[i]);
		scm_attach(&b.headers[i].msg_hdr, &b.control[i], &conns[i].fd, 1);
	}
	rc = (int)TEMP_FAILURE_RETRY(sendmmsg(fd, b.headers, n, MSG_NOSIGNAL | MSG_DONTWAIT));
	return rc < 0 ? -errno : rc;
}

/* --- receiving -------------------------------------------------------------------------------- */

static bool read_wire(struct fdpass *c, const struct wire *w)
{
	socklen_t len = w->peer_len;

	if (len < sizeof(sa_family_t) || len > sizeof(w->peer))
		return false;
	if ((w->peer.sa.sa_family == AF_INET && len != sizeof(w->peer.in)) ||
		(w->peer.sa.sa_family == AF_INET6 && len != sizeof(w->peer.in6)))
		return false;
	c->listener = w->listener;
	memcpy(&c->peer.storage, &w->peer, len);
	c->peer.len = len;
	return true;
}

static void read_one(struct fdpass *c, struct mmsghdr *m, const struct wire *w)
{
	bool whole =
		m->msg_len == sizeof(*w) && (m->msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;

	*c = (struct fdpass){ .fd = scm_take(&m->msg_hdr) };
	if (whole && read_wire(c, w))
		return;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

int fdpass_recv(int fd, struct fdpass *conns, unsigned max)
{
	unsigned n = max < FDPASS_MAX ? max : FDPASS_MAX;
	struct batch b;
	int rc;

	H2D_ASSERT(n > 0);
	batch_init(&b, n);
	rc = (int)TEMP_FAILURE_RETRY(
		recvmmsg(fd, b.headers, n, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, NULL));
	if (rc < 0)
		return -errno;
	for (int i = 0; i < rc; i++) {
		/* Empty messages are never sent: this is the end of file. */
		if (b.headers[i].msg_len == 0 && b.headers[i].msg_hdr.msg_controllen == 0)
			return i;
		read_one(&conns[i], &b.headers[i], &b.wire[i]);
	}
	return rc;
}

/* --- counting --------------------------------------------------------------------------------- */

unsigned fdpass_waiting(int fd)
{
	int bytes = 0;

	if (ioctl(fd, SIOCINQ, &bytes) < 0 || bytes < 0)
		return 0;
	return (unsigned)bytes / (unsigned)sizeof(struct wire);
}

unsigned fdpass_room(int fd, unsigned n, unsigned spare)
{
	int more[FDPASS_MAX + FDPASS_SPARE];
	unsigned got = 0;

	H2D_ASSERT(n <= FDPASS_MAX && spare <= FDPASS_SPARE);
	while (got < n + spare) {
		more[got] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (more[got] < 0)
			break;
		got++;
	}
	for (unsigned i = 0; i < got; i++)
		close(more[i]);
	return got > spare ? got - spare : 0;
}
