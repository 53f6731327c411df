/*
 * store_dir: locks, counts, hides and sweeps by system calls relative to the open folder. Called by
 * store_file.c and store_work.c in threads; it never follows a link and never touches a name that
 * is not its own.
 */
#include "files/store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/beneath.h"

#define PREFIX ".h2d-"

enum {
	PREFIX_LEN = sizeof(PREFIX) - 1,
	TAG_DIGITS = 16,
	MODE = 0666,
	TRIES = 8,
	LOCK_MAX_MS = 3000
};

int store_dir_open(struct store_dir *d, int root, const char *path)
{
	*d = (struct store_dir){ .fd = -1, .lock = -1, .no_tmpfile = d->no_tmpfile };
	d->fd = beneath_open(root, path, BENEATH_DIR);
	return d->fd >= 0 ? 0 : d->fd;
}

void store_dir_close(struct store_dir *d)
{
	if (d->lock >= 0)
		close(d->lock);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = d->lock = -1;
}

static int lock(int fd, int how)
{
	int rc;

	do {
		rc = flock(fd, how);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

int store_dir_lock(const struct store_dir *d)
{
	int rc = lock(d->fd, LOCK_EX | LOCK_NB);

	/* Not for ever: another program may sit on it, and flock(2) knows no deadline. */
	for (int ms = 0; rc == -EWOULDBLOCK && ms < LOCK_MAX_MS; ms++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		rc = lock(d->fd, LOCK_EX | LOCK_NB);
	}
	return rc;
}

void store_dir_unlock(const struct store_dir *d)
{
	lock(d->fd, LOCK_UN);
}

/* A stream over the folder with an offset of its own. */
static DIR *list(const struct store_dir *d)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir == NULL && fd >= 0)
		close(fd);
	return dir;
}

int store_dir_used(const struct store_dir *d, uint64_t *bytes)
{
	DIR *dir = list(d);
	const struct dirent *e;
	struct stat st;

	if (dir == NULL)
		return -errno;
	*bytes = 0;
	while ((e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.' &&
			fstatat(d->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode))
			*bytes += (uint64_t)st.st_size;
	closedir(dir);
	return 0;
}

/* --- hidden names ----------------------------------------------------------------------------- */

void store_dir_hidden_name(const struct store_dir *d, int number, char name[STORE_HIDDEN_NAME])
{
	snprintf(name, STORE_HIDDEN_NAME, PREFIX "%016" PRIx64 "-%d", d->tag, number);
}

/* The number of the next hidden name. */
static int next_number(struct store_dir *d)
{
	if (d->hidden == 0 && getrandom(&d->tag, sizeof(d->tag), 0) != sizeof(d->tag))
		return -EIO;
	return (int)d->hidden;
}

/* The first of them is locked by fd. 0, or -errno. */
static int hold(struct store_dir *d, int fd)
{
	int rc;

	if (d->lock >= 0)
		return 0;
	rc = lock(fd, LOCK_EX | LOCK_NB);
	if (rc < 0)
		return rc;
	/* The file may be closed before the upload is over: the lock stays with this one. */
	d->lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return d->lock >= 0 ? 0 : -errno;
}

int store_dir_hide(struct store_dir *d, int fd)
{
	char name[STORE_HIDDEN_NAME], self[32];
	int number = next_number(d), rc;

	if (number < 0)
		return number;
	rc = hold(d, fd);
	if (rc < 0)
		return rc;
	store_dir_hidden_name(d, number, name);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, d->fd, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	d->hidden++;
	return number;
}

/* Another process that sweeps may have been between the name and its lock. */
static bool was_swept(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_nlink == 0;
}

static int create_hidden(struct store_dir *d, int *hidden)
{
	for (int tries = 0; tries < TRIES; tries++) {
		char name[STORE_HIDDEN_NAME];
		int number = next_number(d), fd, rc;

		if (number < 0)
			return number;
		store_dir_hidden_name(d, number, name);
		fd = openat(d->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, MODE);
		if (fd < 0)
			return -errno;
		rc = hold(d, fd);
		if (rc == 0 && !was_swept(fd)) {
			d->hidden++;
			*hidden = number;
			return fd;
		}
		unlinkat(d->fd, name, 0);
		close(fd);
		if (d->lock >= 0)
			close(d->lock);
		d->lock = -1;
	}
	return -EAGAIN;
}

int store_dir_create(struct store_dir *d, int *hidden)
{
	int fd;

	*hidden = -1;
	if (!d->no_tmpfile) {
		fd = openat(d->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
		if (fd >= 0)
			return fd;
		/* What file systems and kernels without it say. */
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
			return -errno;
		d->no_tmpfile = true;
	}
	return create_hidden(d, hidden);
}

/* --- the dead --------------------------------------------------------------------------------- */

static bool is_hidden_name(const char *name)
{
	const char *p = name + PREFIX_LEN;
	size_t n;

	if (strncmp(name, PREFIX, PREFIX_LEN) != 0 || strspn(p, "0123456789abcdef") != TAG_DIGITS ||
		p[TAG_DIGITS] != '-')
		return false;
	n = strspn(p + TAG_DIGITS + 1, "0123456789");
	return n > 0 && p[TAG_DIGITS + 1 + n] == '\0' &&
	       PREFIX_LEN + TAG_DIGITS + 1 + n < STORE_HIDDEN_NAME;
}

/* Whether nobody holds the lock of the upload that the name is of. */
static bool is_dead(const struct store_dir *d, const char *name)
{
	char first[STORE_HIDDEN_NAME];
	int fd;
	bool dead;

	memcpy(first, name, PREFIX_LEN + TAG_DIGITS + 1);
	strcpy(first + PREFIX_LEN + TAG_DIGITS + 1, "0");
	fd = openat(d->fd, first, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT;
	dead = lock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return dead;
}

int store_dir_sweep(const struct store_dir *d)
{
	DIR *dir = list(d);
	const struct dirent *e;
	int n = 0;

	if (dir == NULL)
		return -errno;
	while ((e = readdir(dir)) != NULL)
		if (is_hidden_name(e->d_name) && is_dead(d, e->d_name) &&
			unlinkat(d->fd, e->d_name, 0) == 0)
			n++;
	closedir(dir);
	return n;
}
