/*
 * pidfile: the master writes and locks the file, `h2d -s` reads it. The lock is flock(2)'s: it ends
 * with the last descriptor, so spawn closes the descriptor in every child.
 */
#include "machine/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

/* A check by `h2d -s` holds the lock for a moment; a master holds it for good. */
static int lock_patiently(int fd)
{
	for (int tries = 0; tries < 10; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	errno = EWOULDBLOCK;
	return -1;
}

/* True if fd is still path's file: a master that exits unlinks the file it had locked. */
static bool still_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int pidfile_name(const struct pidfile *p, pid_t pid)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", (int)pid);

	/* The new number in one write; only then the rest of an older, longer one is cut. */
	if (pwrite(p->fd, text, (size_t)n, 0) != n || ftruncate(p->fd, n) < 0)
		return -errno;
	return 0;
}

void pidfile_claim(struct pidfile *p)
{
	int rc = p->path != NULL ? pidfile_name(p, getpid()) : 0;

	p->stale = rc < 0;
	if (p->stale)
		log_error("pid file %s: %s; retrying every second", p->path, strerror(-rc));
}

void pidfile_retry(struct pidfile *p)
{
	if (!p->stale || !p->mine || pidfile_name(p, getpid()) < 0)
		return;
	p->stale = false;
	log_notice("pid file %s now contains process %d", p->path, (int)getpid());
}

int pidfile_adopt(struct pidfile *p, const char *path, int fd)
{
	*p = (struct pidfile){ .path = strdup(path), .fd = fd };
	if (p->path != NULL)
		return 0;
	p->fd = -1;
	return -ENOMEM;
}

int pidfile_open(struct pidfile *p, const char *path, char *err, size_t errsize)
{
	int fd;

	*p = PIDFILE_NONE;
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
		if (fd < 0)
			goto failed;
		if (lock_patiently(fd) < 0) {
			if (errno != EWOULDBLOCK)
				goto failed;
			snprintf(err, errsize, "pid file %s: in use by another h2d (process %d)",
				path, (int)pidfile_holder(path));
			close(fd);
			return -1;
		}
		if (still_named(fd, path))
			break;
		close(fd);
	}
	if (pidfile_name(&(struct pidfile){ .fd = fd }, getpid()) < 0 ||
		pidfile_adopt(p, path, fd) < 0)
		goto failed;
	p->mine = true;
	return 0;

failed:
	snprintf(err, errsize, "pid file %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

void pidfile_close(struct pidfile *p)
{
	if (p->fd < 0)
		return;
	/* Unlinked while locked, and only if it is ours: no other process can have taken the
	 * name. */
	if (p->mine && still_named(p->fd, p->path))
		unlink(p->path);
	close(p->fd);
	free(p->path);
	*p = PIDFILE_NONE;
}

pid_t pidfile_holder(const char *path)
{
	char text[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *end;
	ssize_t n = 0;
	long pid;
	int rc;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	rc = flock(fd, LOCK_SH | LOCK_NB) == 0 ? 0 : -errno;
	if (rc == -EWOULDBLOCK)
		n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (rc != -EWOULDBLOCK)
		return rc;
	if (n <= 0)
		return -EINVAL;
	pid = strtol(text, &end, 10);
	return pid > 0 && pid <= INT_MAX && *end == '\n' ? (pid_t)pid : -EINVAL;
}
