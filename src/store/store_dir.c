/*
 * store_dir: locks, counts, hides and sweeps by system calls relative to the open directory. Called
 * by store_file.c and store_work.c in threads; it never follows a link and touches only its own
 * names.
 */
#include "store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/beneath.h"

#define PREFIX ".h2d-"
#define PART   ".part"
#define GUARD  ".h2d-lock"

enum {
	PREFIX_LEN = sizeof(PREFIX) - 1,
	TAG_DIGITS = 16,
	MODE = 0666,
	GUARD_MODE = 0600, /* machines that share a directory may share it among users, too */
	TRIES = 8,
	WAIT_MAX_MS = 3000,
};

/* --- store_lock ------------------------------------------------------------------------------- */

static int set_lock(struct store_lock l, short type)
{
	int rc;

	do {
		struct flock range = {
			.l_type = type, .l_whence = SEEK_SET, .l_start = l.at, .l_len = l.n
		};

		rc = l.n > 0 ? fcntl(l.fd, F_OFD_SETLK, &range)
			     : flock(l.fd, type == F_UNLCK ? LOCK_UN : LOCK_EX | LOCK_NB);
	} while (rc < 0 && errno == EINTR);
	/* fcntl(2) may return EACCES for EAGAIN. */
	return rc == 0 ? 0 : errno == EACCES ? -EAGAIN : -errno;
}

int store_lock_try(struct store_lock l)
{
	return set_lock(l, F_WRLCK);
}

int store_lock_wait(struct store_lock l, const struct job *job)
{
	int rc = store_lock_try(l);

	/* Polls: another program may keep the lock, and flock(2) has no deadline. */
	for (int ms = 0; rc == -EAGAIN && ms < WAIT_MAX_MS; ms++) {
		if (job != NULL && job_unwanted(job))
			return -ECANCELED;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		rc = store_lock_try(l);
	}
	if (rc == 0 && job != NULL && job_unwanted(job)) {
		store_lock_free(l);
		rc = -ECANCELED;
	}
	return rc;
}

void store_lock_free(struct store_lock l)
{
	set_lock(l, F_UNLCK);
}

/* --- the directory ---------------------------------------------------------------------------- */

int store_dir_open(struct store_dir *d, int root, const char *path)
{
	*d = (struct store_dir){ .root = root,
		.path = path,
		.folder = "",
		.fd = -1,
		.guard = -1,
		.lock = -1,
		.depth = d->depth,
		.no_tmpfile = d->no_tmpfile };
	d->fd = d->to = beneath_open(root, path, BENEATH_DIR);
	if (d->fd < 0)
		return d->fd;
	d->shared = beneath_kind(d->fd) == BENEATH_REMOTE;
	return 0;
}

void store_dir_leave(struct store_dir *d)
{
	if (d->to >= 0 && d->to != d->fd)
		close(d->to);
	d->to = -1;
}

void store_dir_close(struct store_dir *d)
{
	if (d->lock >= 0)
		close(d->lock);
	if (d->fd >= 0) {
		store_dir_leave(d);
		close(d->fd);
	}
	d->fd = d->to = d->lock = -1;
}

/* --- its lock --------------------------------------------------------------------------------- */

/* Opens the file that is locked in place of the directory: any local user who may read a directory
 * could lock it, and on a shared one its lock would not leave the machine. The descriptor, or
 * -errno. */
static int open_guard(const struct store_dir *d)
{
	int fd = openat(d->fd, GUARD, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		d->shared ? MODE : GUARD_MODE);

	return fd >= 0 ? fd : -errno;
}

static struct store_lock lock_of(const struct store_dir *d)
{
	return (struct store_lock){ .fd = d->guard >= 0 ? d->guard : d->fd };
}

int store_dir_lock(struct store_dir *d, const struct job *job)
{
	int rc;

	d->guard = open_guard(d);
	if (d->guard < 0 && d->shared)
		return d->guard;
	rc = store_lock_wait(lock_of(d), job);
	if (rc == 0)
		store_dir_refresh(d);
	else
		store_dir_unlock(d);
	return rc;
}

void store_dir_unlock(struct store_dir *d)
{
	store_lock_free(lock_of(d));
	if (d->guard >= 0)
		close(d->guard);
	d->guard = -1;
}

void store_dir_refresh(const struct store_dir *d)
{
	if (!d->shared)
		return;
	beneath_refresh(d->root, d->path, true);
	if (d->folder[0] != '\0')
		beneath_refresh(d->fd, d->folder, true);
}

int store_dir_sync(int fd)
{
	/* EINVAL: a file system without sync. */
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

DIR *store_dir_list(const struct store_dir *d)
{
	return beneath_list(openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

struct costs {
	uint64_t bytes;
	unsigned depth; /* of directories that are counted */
};

/* Adds the cost of a counted file, or directory and its content. */
static int add_cost(void *ctx, int at, const char *name)
{
	struct costs *c = ctx;
	enum store_dir_kind kind = name[0] == '.' ? store_dir_kind(name) : STORE_DIR_PART;
	struct stat st;

	if ((kind != STORE_DIR_PART && kind != STORE_DIR_TICKET) ||
		fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		c->bytes += store_dir_cost((uint64_t)st.st_size);
	if (!S_ISDIR(st.st_mode) || c->depth == 0 || kind == STORE_DIR_TICKET)
		return 0;
	c->bytes += STORE_DIR_FILE;
	c->depth--;
	beneath_each(at, name, add_cost, c);
	c->depth++;
	return 0;
}

int store_dir_used(const struct store_dir *d, uint64_t *bytes)
{
	struct costs c = { .depth = d->depth };
	int rc;

	store_dir_refresh(d);
	rc = beneath_each(d->fd, ".", add_cost, &c);
	*bytes = c.bytes;
	return rc;
}

/* --- hidden names ----------------------------------------------------------------------------- */

/* Makes the next hidden name. 0, or -errno. */
static int next_name(struct store_dir *d, char name[STORE_HIDDEN_NAME])
{
	if (d->hidden == 0 && getrandom(&d->tag, sizeof(d->tag), 0) != sizeof(d->tag))
		return -EIO;
	snprintf(name, STORE_HIDDEN_NAME, PREFIX "%016" PRIx64 "-%u", d->tag, d->hidden);
	return 0;
}

/* Locks the first hidden name, open at fd, for as long as the upload lives. 0, or -errno. */
static int hold_name(struct store_dir *d, int fd)
{
	int rc;

	if (d->lock >= 0)
		return 0;
	rc = store_lock_try((struct store_lock){ .fd = fd });
	if (rc < 0)
		return rc;
	/* The file may be closed before the end of the upload: this one keeps the lock. */
	d->lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return d->lock >= 0 ? 0 : -errno;
}

int store_dir_hide(struct store_dir *d, int fd, char hidden[STORE_HIDDEN_NAME])
{
	char name[STORE_HIDDEN_NAME], self[32];
	int rc = next_name(d, name);

	if (rc == 0)
		rc = hold_name(d, fd);
	if (rc < 0)
		return rc;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, d->fd, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	d->hidden++;
	memcpy(hidden, name, sizeof(name));
	return 0;
}

static int create_hidden(struct store_dir *d, char hidden[STORE_HIDDEN_NAME])
{
	for (int tries = 0; tries < TRIES; tries++) {
		char name[STORE_HIDDEN_NAME];
		int rc = next_name(d, name), fd;
		struct stat st;

		if (rc < 0)
			return rc;
		fd = openat(d->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, MODE);
		if (fd < 0)
			return -errno;
		rc = hold_name(d, fd);
		/* Another process may have swept between the name and its lock. */
		if (rc == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
			d->hidden++;
			memcpy(hidden, name, sizeof(name));
			return fd;
		}
		unlinkat(d->fd, name, 0);
		close(fd);
		if (d->lock >= 0)
			close(d->lock);
		d->lock = -1;
		if (rc < 0 && rc != -EAGAIN)
			return rc;
	}
	return -EAGAIN;
}

int store_dir_create(struct store_dir *d, char hidden[STORE_HIDDEN_NAME])
{
	int fd;

	hidden[0] = '\0';
	if (!d->no_tmpfile) {
		fd = openat(d->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
		if (fd >= 0)
			return fd;
		/* Results of file systems and kernels without it. */
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
			return -errno;
		d->no_tmpfile = true;
	}
	return create_hidden(d, hidden);
}

static int unlink_one(void *ctx, int at, const char *name)
{
	(void)ctx;
	return store_dir_unlink(at, name);
}

int store_dir_unlink(int at, const char *name)
{
	int rc;

	if (unlinkat(at, name, 0) == 0)
		return 0;
	rc = errno == EISDIR ? beneath_each(at, name, unlink_one, NULL) : -errno;
	return rc == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : rc;
}

int store_dir_hide_folder(struct store_dir *d, char hidden[STORE_HIDDEN_NAME])
{
	char guard[STORE_HIDDEN_NAME];
	int fd = create_hidden(d, guard), rc;

	if (fd < 0)
		return fd;
	close(fd);
	rc = next_name(d, hidden);
	if (rc < 0 || mkdirat(d->fd, hidden, STORE_FOLDER_MODE) < 0)
		return rc < 0 ? rc : -errno;
	d->hidden++;
	return beneath_open(d->fd, hidden, BENEATH_DIR | BENEATH_SAME_MOUNT);
}

void store_dir_unhide_folder(struct store_dir *d, const char *hidden)
{
	char guard[STORE_HIDDEN_NAME];

	store_dir_unlink(d->fd, hidden);
	snprintf(guard, sizeof(guard), PREFIX "%016" PRIx64 "-0", d->tag);
	unlinkat(d->fd, guard, 0);
}

/* --- dead uploads ----------------------------------------------------------------------------- */

static bool is_temp(const char *p)
{
	size_t n;

	if (p[TAG_DIGITS] != '-')
		return false;
	n = strspn(p + TAG_DIGITS + 1, "0123456789");
	return n > 0 && p[TAG_DIGITS + 1 + n] == '\0' &&
	       PREFIX_LEN + TAG_DIGITS + 1 + n < STORE_HIDDEN_NAME;
}

enum store_dir_kind store_dir_kind(const char *name)
{
	const char *p = name + PREFIX_LEN;
	size_t digits;

	if (strncmp(name, PREFIX, PREFIX_LEN) != 0)
		return STORE_DIR_OTHER;
	digits = strspn(p, "0123456789abcdef");
	if (digits == TAG_DIGITS && is_temp(p))
		return STORE_DIR_TEMP;
	if (digits != STORE_TOKEN)
		return STORE_DIR_OTHER;
	return p[digits] == '\0'               ? STORE_DIR_TICKET
	       : strcmp(p + digits, PART) == 0 ? STORE_DIR_PART
					       : STORE_DIR_OTHER;
}

void store_dir_token_name(const char *token, enum store_dir_kind kind, char name[STORE_HIDDEN_NAME])
{
	snprintf(name, STORE_HIDDEN_NAME, PREFIX "%s%s", token, kind == STORE_DIR_PART ? PART : "");
}

void store_dir_token(const char *name, char token[STORE_TOKEN + 1])
{
	memcpy(token, name + PREFIX_LEN, STORE_TOKEN);
	token[STORE_TOKEN] = '\0';
}

/* NFS locks files that are open for writing; another user's file is opened for reading only. The
 * descriptor, or -1. */
static int open_to_lock(const struct store_dir *d, const char *name)
{
	const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = openat(d->fd, name, O_RDWR | flags);

	return fd >= 0 || errno != EACCES ? fd : openat(d->fd, name, O_RDONLY | flags);
}

/* True if the upload of the hidden name is dead: its lock is free. */
static bool is_dead(const struct store_dir *d, const char *name)
{
	char first[STORE_HIDDEN_NAME];
	int fd;
	bool dead;

	memcpy(first, name, PREFIX_LEN + TAG_DIGITS + 1);
	strcpy(first + PREFIX_LEN + TAG_DIGITS + 1, "0");
	fd = open_to_lock(d, first);
	if (fd < 0)
		return errno == ENOENT;
	dead = store_lock_try((struct store_lock){ .fd = fd }) == 0;
	close(fd);
	return dead;
}

/* Removes the name of a dead upload: 1; 0: it lives; -errno. While files get their names, under the
 * directory's lock, the name with the upload's own lock may be removed before others. */
static int remove_dead(struct store_dir *d, const char *name)
{
	int rc = store_dir_lock(d, NULL);

	if (rc < 0)
		return rc;
	rc = is_dead(d, name) && store_dir_unlink(d->fd, name) == 0;
	store_dir_unlock(d);
	return rc;
}

int store_dir_sweep(struct store_dir *d)
{
	DIR *dir = store_dir_list(d);
	const struct dirent *e;
	int n = 0, rc = 0;

	if (dir == NULL)
		return -errno;
	while (rc >= 0 && (e = readdir(dir)) != NULL) {
		if (store_dir_kind(e->d_name) != STORE_DIR_TEMP || !is_dead(d, e->d_name))
			continue;
		rc = remove_dead(d, e->d_name);
		n += rc > 0;
	}
	closedir(dir);
	return n;
}
