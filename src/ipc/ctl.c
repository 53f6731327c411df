/*
 * ctl: a message without exactly the size and form of struct ctl_msg is refused: descriptors that
 * came with it are closed here and never reach the caller.
 */
#include "ipc/ctl.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

enum {
	SECOND_MS = 900, /* a timer of a second may be a little early */
	RECV_FDS = 253,  /* maximum of a message (SCM_MAX_FD) */
};

/* Descriptors on their way to a thread. */
struct discard {
	int n, fds[];
};

union ctl_control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(RECV_FDS * sizeof(int))];
};

int ctl_send(int fd, const struct ctl_msg *msg, const int *fds, int nfds)
{
	union ctl_control control;
	struct ctl_msg copy = *msg;
	struct iovec iov = { .iov_base = &copy, .iov_len = sizeof(copy) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	H2D_ASSERT(nfds >= 0 && nfds <= CTL_FDS_MAX);
	if (nfds > 0)
		scm_attach(&mh, &control, fds, (size_t)nfds);
	n = TEMP_FAILURE_RETRY(sendmsg(fd, &mh, MSG_NOSIGNAL));
	return n < 0 ? -errno : 0;
}

static void close_all(const int *fds, int n)
{
	while (n > 0)
		close(fds[--n]);
}

static void *close_apart(void *arg)
{
	struct discard *d = arg;

	close_all(d->fds, d->n);
	free(d);
	return NULL;
}

void ctl_discard(const int *fds, int nfds)
{
	struct discard *d = malloc(sizeof(*d) + (size_t)nfds * sizeof(*fds));
	pthread_t thread;

	if (d != NULL) {
		d->n = nfds;
		memcpy(d->fds, fds, (size_t)nfds * sizeof(*fds));
		if (pthread_create(&thread, NULL, close_apart, d) == 0) {
			pthread_detach(thread);
			return;
		}
		free(d);
	}
	close_all(fds, nfds);
}

/* The descriptors of every SCM_RIGHTS in mh. The control buffer bounds them to RECV_FDS. */
static int take_fds(struct msghdr *mh, int *fds)
{
	int nfds = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c != NULL; c = CMSG_NXTHDR(mh, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		H2D_ASSERT((size_t)nfds + bytes / sizeof(int) <= RECV_FDS);
		memcpy(fds + nfds, CMSG_DATA(c), bytes);
		nfds += (int)(bytes / sizeof(int));
	}
	return nfds;
}

int ctl_recv(int fd, struct ctl_msg *msg, int *fds, int *nfds)
{
	union ctl_control control;
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	struct msghdr mh;
	int came[RECV_FDS], ncame;
	ssize_t n;
	bool cut;

	*nfds = 0;
	/*
	 * A peer that died with unread messages of ours leaves one ECONNRESET before its own
	 * messages: a second call gives those, then the end of file.
	 */
	do {
		mh = (struct msghdr){ .msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.buf,
			.msg_controllen = sizeof(control.buf) };
		n = recvmsg(fd, &mh, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;

	ncame = take_fds(&mh, came);
	if (n == 0 && ncame == 0)
		return 0;
	/* The buffer had room for all: this process may have no more descriptors. */
	cut = mh.msg_flags & MSG_CTRUNC;
	if (n == sizeof(*msg) && (mh.msg_flags & MSG_TRUNC) == 0 && !cut && ncame <= CTL_FDS_MAX) {
		memcpy(fds, came, (size_t)ncame * sizeof(*fds));
		*nfds = ncame;
		return 1;
	}
	if (ncame > 0)
		ctl_discard(came, ncame);
	return n == sizeof(*msg) && (mh.msg_flags & MSG_TRUNC) == 0 && cut ? -EMFILE : -EPROTO;
}

static int lines_fd = -1;
static time_t second;
static unsigned sent; /* in that second */

/* Called by the log under its lock, in any thread. */
static void tell_master(enum log_level level, const char *message)
{
	struct ctl_msg msg = { .type = CTL_LINE, .arg = level };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec != second)
		sent = 0;
	second = now.tv_sec;
	if (sent++ >= CTL_LINES_PER_SECOND)
		return;
	snprintf(msg.line, sizeof(msg.line), "%s", message);
	(void)ctl_send(lines_fd, &msg, NULL, 0);
}

void ctl_lines_to(int fd)
{
	lines_fd = fd;
	log_tell(fd >= 0 ? tell_master : NULL);
}

/* --- a child's end, on its loop --------------------------------------------------------------- */

static void on_link(struct watch *w, uint32_t events)
{
	struct ctl_link *l = LIST_ENTRY(w, struct ctl_link, watch);
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX], nfds, rc;

	(void)events;
	while ((rc = ctl_recv(w->fd, &msg, fds, &nfds)) > 0 || rc == -EMFILE) {
		if (rc > 0) {
			for (int i = l->message(l, &msg, fds, nfds); i < nfds; i++)
				close(fds[i]);
			continue;
		}
		log_error("control message lost: %s; requesting it again", strerror(-rc));
		l->lost |= CTL_TYPE(msg.type);
		l->lost_ms = clock_ms();
	}
	if (rc == -EAGAIN)
		return;
	loop_unwatch(l->loop, w);
	l->gone(l);
}

int ctl_link_open(struct ctl_link *l, struct loop *loop, int fd)
{
	l->loop = loop;
	l->watch = (struct watch){ .fn = on_link, .fd = fd };
	return loop_watch(loop, &l->watch, EPOLLIN);
}

void ctl_link_close(struct ctl_link *l)
{
	ctl_lines_to(-1);
	loop_unwatch(l->loop, &l->watch);
}

void ctl_link_look(struct ctl_link *l)
{
	const struct ctl_msg msg = { .type = CTL_AGAIN, .arg = l->lost };

	/* Until descriptors are free, each answer is lost like the first. */
	if (l->lost != 0 && clock_ms() - l->lost_ms >= SECOND_MS &&
		ctl_send(l->watch.fd, &msg, NULL, 0) == 0)
		l->lost = 0;
}

void ctl_link_tick(struct ctl_link *l)
{
	const struct ctl_msg msg = { .type = CTL_TICK };
	uint64_t now = clock_now_ms(); /* the loop's clock stops during a long step */

	if (now - l->ticked_ms >= SECOND_MS && ctl_send(l->watch.fd, &msg, NULL, 0) == 0)
		l->ticked_ms = now;
}

int ctl_link_unknown(const struct ctl_msg *msg)
{
	log_error("unknown control message %u ignored", msg->type);
	return 0;
}
