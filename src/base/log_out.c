/*
 * log_out: writes whole lines without waiting. Sockets have MSG_DONTWAIT, regular files never make
 * a writer wait for a reader, everything else has O_NONBLOCK by log_out_own(). Where the kernel
 * refused to open it again (the pipe of another user), RWF_NOWAIT does the same for one write, and
 * where that is missing for pipes, poll(2) comes before the write: another process may fill the
 * pipe in between, which is the one case that can still wait.
 */
#include "base/log_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t write_if_polled(int fd, const char *p, size_t n)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	if (poll(&pfd, 1, 0) == 1)
		return write(fd, p, n);
	errno = EAGAIN;
	return -1;
}

static ssize_t log_out_put(int fd, mode_t mode, const char *p, size_t n)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)p, .iov_len = n };
	ssize_t rc;

	if (S_ISSOCK(mode))
		return send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (S_ISREG(mode) || fcntl(fd, F_GETFL) & O_NONBLOCK)
		return write(fd, p, n);
	rc = pwritev2(fd, &iov, 1, -1, RWF_NOWAIT);
	if (rc < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
		return write_if_polled(fd, p, n);
	return rc;
}

/* The length of the whole lines in p[0..n), 0 if there is none. */
static size_t whole(const char *p, size_t n)
{
	const char *end = n > 0 ? memrchr(p, '\n', n) : NULL;

	return end != NULL ? (size_t)(end - p) + 1 : 0;
}

/*
 * A full disk took part of a line: the file gets shorter by it. The others who append have nothing
 * behind it, for the disk is full for them too; if one has, the line stays torn.
 */
static bool take_back(int fd, mode_t mode, size_t n)
{
	struct stat st;

	return S_ISREG(mode) && fcntl(fd, F_GETFL) & O_APPEND && fstat(fd, &st) == 0 &&
	       st.st_size == lseek(fd, 0, SEEK_CUR) && st.st_size >= (off_t)n &&
	       ftruncate(fd, st.st_size - (off_t)n) == 0;
}

/* One write of at most PIPE_BUF bytes is whole or nothing in a pipe, even if other processes write
 * to it. */
static size_t log_out_piece(mode_t mode, const char *p, size_t n)
{
	const char *end;

	if (S_ISREG(mode) || n <= PIPE_BUF)
		return n;
	if (whole(p, PIPE_BUF) > 0)
		return whole(p, PIPE_BUF);
	end = memchr(p, '\n', n);
	return end != NULL ? (size_t)(end - p) + 1 : n;
}

static bool mend(struct log_out *o, int fd, mode_t mode)
{
	if (o->torn && log_out_put(fd, mode, "\n", 1) == 1)
		o->torn = false;
	return !o->torn;
}

size_t log_out_write(struct log_out *o, int fd, const char *p, size_t n)
{
	size_t done = 0;
	struct stat st;

	if (fstat(fd, &st) < 0 || !mend(o, fd, st.st_mode))
		return 0;
	while (done < n) {
		size_t want = log_out_piece(st.st_mode, p + done, n - done), lines;
		ssize_t got = log_out_put(fd, st.st_mode, p + done, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		lines = whole(p + done, (size_t)got);
		done += lines;
		if ((size_t)got < want) {
			size_t half = (size_t)got - lines;

			o->torn = half > 0 && !take_back(fd, st.st_mode, half);
			errno = S_ISREG(st.st_mode) ? ENOSPC : EAGAIN;
			break;
		}
	}
	return done;
}

void log_out_own(int fd)
{
	char path[32];
	struct stat st;
	int own;

	if (fstat(fd, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return;
	dup2(own, fd);
	close(own);
}
