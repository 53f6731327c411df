/*
 * tcp: the cleartext transport, for TCP and unix sockets. It owns the descriptor and nothing else:
 * bytes go from the output queue to the socket by sendmsg(2) without a copy. A connection calls it
 * through the transport table only; it never interprets a byte.
 */
#include "net/tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

enum { TCP_IOV = 64 };

static int tcp_handshake(struct transport *t)
{
	(void)t;
	return 0;
}

static ssize_t tcp_recv(struct transport *t, void *buf, size_t cap)
{
	ssize_t n;

	H2D_ASSERT(cap > 0);
	do
		n = recv(t->fd, buf, cap, 0);
	while (n < 0 && errno == EINTR);
	t->drained = n != 0 && n < (ssize_t)cap;
	return n < 0 ? -errno : n;
}

static ssize_t tcp_send(struct transport *t, struct outq *q, size_t limit)
{
	struct iovec iov[TCP_IOV];
	size_t done = 0;

	while (done < limit && outq_len(q) > 0) {
		struct msghdr mh = { .msg_iov = iov };
		size_t offered = 0;
		ssize_t n;

		mh.msg_iovlen = (size_t)outq_iov(q, iov, TCP_IOV, limit - done);
		for (size_t i = 0; i < mh.msg_iovlen; i++)
			offered += iov[i].iov_len;
		/* Most often it is one segment, for which send(2) has less to set up. */
		do
			n = mh.msg_iovlen == 1 ? send(t->fd, iov[0].iov_base, offered, MSG_NOSIGNAL)
					       : sendmsg(t->fd, &mh, MSG_NOSIGNAL);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return done > 0 && errno == EAGAIN ? (ssize_t)done : -errno;
		outq_consume(q, (size_t)n);
		done += (size_t)n;
		if ((size_t)n < offered)
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
	return t;
}
