/* doubt: sends and receives doubts of workers and answers of keepers; see doubt.h. */
#include "image/doubt.h"

#include <errno.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

int doubt_send(int fd, const struct doubt_msg *msg, struct slice path, int answer)
{
	union scm_control control;
	char buf[sizeof(*msg) + PATH_MAX];
	struct iovec iov = { .iov_base = buf, .iov_len = sizeof(*msg) + path.n };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (path.n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(buf, msg, sizeof(*msg));
	memcpy(buf + sizeof(*msg), path.p, path.n);
	scm_attach(&mh, &control, &answer, 1);
	n = TEMP_FAILURE_RETRY(sendmsg(fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT));
	return n < 0 ? -errno : 0;
}

bool doubt_is_shut(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };

	return poll(&end, 1, 0) > 0;
}

int doubt_recv(int fd, struct doubt_msg *msg, char path[PATH_MAX], int *answer)
{
	union scm_control control;
	struct iovec iov[] = {
		{ .iov_base = msg, .iov_len = sizeof(*msg) },
		{ .iov_base = path, .iov_len = PATH_MAX - 1 },
	};
	struct msghdr mh = { .msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control.buf,
		/* Not CMSG_SPACE: its padding has room for a second descriptor. */
		.msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n;

	n = TEMP_FAILURE_RETRY(recvmsg(fd, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT));
	*answer = -1;
	if (n < 0)
		return -errno;
	if (n == 0 && doubt_is_shut(fd))
		return 0;
	*answer = scm_take(&mh);
	if ((mh.msg_flags & MSG_TRUNC) == 0 && n > (ssize_t)sizeof(*msg)) {
		size_t len = (size_t)n - sizeof(*msg);

		path[len] = '\0';
		if (len > 1 && path[0] == '/' && path[len - 1] != '/' && strlen(path) == len)
			return 1;
	}
	if (*answer >= 0)
		close(*answer);
	*answer = -1;
	return -EPROTO;
}

void doubt_answer(int answer, uint64_t id)
{
	if (answer < 0)
		return;
	/* A worker that does not read its answers no longer waits for them. */
	(void)send(answer, &id, sizeof(id), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(answer);
}

void doubt_farewell(int fd)
{
	static const char none;

	(void)send(fd, &none, sizeof(none), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool doubt_has_farewell(int fd)
{
	char none;
	ssize_t n;

	/* ECONNRESET comes once, before the messages: the peer died with unread ones. */
	do
		n = recv(fd, &none, sizeof(none), MSG_PEEK | MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n == sizeof(none);
}

int doubt_answered(int fd, uint64_t *id)
{
	ssize_t n = TEMP_FAILURE_RETRY(recv(fd, id, sizeof(*id), MSG_DONTWAIT | MSG_TRUNC));

	if (n < 0)
		return -errno;
	return n == sizeof(*id) ? 1 : -EPROTO;
}
