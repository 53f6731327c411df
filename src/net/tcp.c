/*
 * tcp: bytes go from the output queue to the socket by sendmsg(2), long segments of files by
 * sendfile(2).
 */
#include "net/tcp.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

enum {
	TCP_IOV = 64,
	/* Bytes of a file behind memory from which a call of their own costs less than the copy;
	 * for the rest of one, which takes no further call. */
	TCP_FILE_MIN = 128 << 10,
	TCP_FILE_REST = 32 << 10,
};

static int tcp_handshake(struct transport *t)
{
	(void)t;
	return 0;
}

static ssize_t tcp_recv(struct transport *t, void *buf, size_t cap)
{
	ssize_t n;

	H2D_ASSERT(cap > 0);
	n = TEMP_FAILURE_RETRY(recv(t->fd, buf, cap, 0));
	t->drained = n != 0 && n < (ssize_t)cap;
	return n < 0 ? -errno : n;
}

/* Sends the front of q, up to a long segment of a file; *offered: its length. */
static ssize_t send_memory(
	const struct transport *t, const struct outq *q, size_t limit, size_t *offered)
{
	struct iovec iov[TCP_IOV];
	struct msghdr mh = { .msg_iov = iov };
	int flags = MSG_NOSIGNAL;
	ssize_t n;

	mh.msg_iovlen = (size_t)outq_iov_memory(q, iov, TCP_IOV, limit, TCP_FILE_MIN);
	*offered = 0;
	for (size_t i = 0; i < mh.msg_iovlen; i++)
		*offered += iov[i].iov_len;
	/* The memory's end and the file's beginning share a packet. */
	if (mh.msg_iovlen < TCP_IOV && *offered < limit && *offered < outq_len(q))
		flags |= MSG_MORE;
	/* Usually one segment, for which send(2) has less to set up. */
	do
		n = mh.msg_iovlen == 1 ? send(t->fd, iov[0].iov_base, *offered, flags)
				       : sendmsg(t->fd, &mh, flags);
	while (n < 0 && errno == EINTR);
	return n;
}

static ssize_t tcp_send(struct transport *t, struct outq *q, size_t limit)
{
	size_t done = 0;

	while (done < limit && outq_len(q) > 0) {
		size_t offered;
		ssize_t n;
		off_t at;
		bool range;
		int fd;

		offered = outq_file(q, limit - done, TCP_FILE_REST, &fd, &at);
		range = offered > 0 && outq_range_is_next(q);
		/* The pages of a file's segment go to the socket without a copy. */
		n = offered > 0 ? TEMP_FAILURE_RETRY(sendfile(t->fd, fd, &at, offered))
				: send_memory(t, q, limit - done, &offered);
		/* Bytes of a range may be missing: the source gets the rest back and finds out
		 * why. */
		if (range && (n == 0 || (n < 0 && errno != EAGAIN))) {
			outq_refuse_range(q);
			return done > 0 ? (ssize_t)done : -EAGAIN;
		}
		if (n < 0)
			return done > 0 && errno == EAGAIN ? (ssize_t)done : -errno;
		outq_consume(q, (size_t)n);
		done += (size_t)n;
		/* A shortened file gives less, too: the next call shows it. */
		if ((size_t)n < offered && !range)
			break;
	}
	return (ssize_t)done;
}

static bool tcp_pending(const struct transport *t)
{
	(void)t;
	return false;
}

static void tcp_shutdown(struct transport *t)
{
	shutdown(t->fd, SHUT_WR);
}

static void tcp_close(struct transport **t)
{
	close((*t)->fd);
	free(*t);
	*t = NULL;
}

static const struct transport_ops tcp_ops = {
	.name = "tcp",
	.handshake = tcp_handshake,
	.recv = tcp_recv,
	.send = tcp_send,
	.pending = tcp_pending,
	.shutdown = tcp_shutdown,
	.close = tcp_close,
};

struct transport *tcp_open(int fd)
{
	struct transport *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->ops = &tcp_ops;
	t->fd = fd;
	t->takes_ranges = true;
	return t;
}

/* --- unsent bytes in the kernel --------------------------------------------------------------- */

int tcp_limit_unsent(int fd, int max)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &max, sizeof(max));
}

size_t tcp_unsent(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQNSD, &n) == 0 && n > 0 ? (size_t)n : 0;
}
