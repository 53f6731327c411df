/*
 * beneath: opens files below a root with openat2(2), and finds the kind of their file system. The
 * keeper and the workers call it, also in threads. It keeps no state, never follows a magic link,
 * and leaves the root for BENEATH_LEAVE alone.
 */
#include "image/beneath.h"

#include "base/slice.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A rename above the path makes RESOLVE_BENEATH fail with EAGAIN, for a moment. */
enum { BENEATH_TRIES = 16 };

/* A file replaced by another machine is usually found the second time. */
enum { STALE_TRIES = 2 };

int beneath_open(int root, const char *path, unsigned flags)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int tries = flags & BENEATH_CACHED ? 1 : BENEATH_TRIES;
	long fd;

	if (flags & BENEATH_LEAVE)
		how.resolve &= ~(unsigned long long)RESOLVE_BENEATH;
	if (flags & BENEATH_PATH)
		how.flags = O_PATH | O_CLOEXEC;
	if (flags & BENEATH_DIR)
		how.flags |= O_DIRECTORY;
	if (flags & BENEATH_NO_LINK)
		how.flags |= O_NOFOLLOW;
	if (flags & (BENEATH_DIR | BENEATH_NO_LINKS))
		how.resolve |= RESOLVE_NO_SYMLINKS;
	if (flags & BENEATH_SAME_MOUNT)
		how.resolve |= RESOLVE_NO_XDEV;
	if (flags & BENEATH_CACHED)
		how.resolve |= RESOLVE_CACHED;
	while (*path == '/')
		path++;
	if (*path == '\0')
		path = ".";
	do {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EINTR)
			tries--;
	} while (errno == EINTR || (errno == EAGAIN && tries > 0));
	return -errno;
}

/* 0, or -errno if it is no regular file. */
static int look_at_file(int fd, struct stat *st)
{
	if (fstat(fd, st) < 0)
		return -errno;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	return S_ISREG(st->st_mode) ? 0 : -ENOENT;
}

/* Opens the file of fd, which was opened with O_PATH, for reading. The descriptor, or -errno. */
static int open_again(int fd)
{
	char path[32];
	int file;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	return file >= 0 ? file : -errno;
}

static int open_once(int root, const char *path, unsigned flags, struct stat *st)
{
	/* By name again it could now be a FIFO, which open(2) cannot be told to refuse. */
	int fd = beneath_open(root, path, flags | BENEATH_PATH), file, rc;

	if (fd < 0)
		return fd;
	rc = look_at_file(fd, st);
	file = rc == 0 ? open_again(fd) : rc;
	close(fd);
	if (file < 0 || flags & BENEATH_CACHED)
		return file;
	/* Only this makes an NFS client fetch the file's attributes. */
	rc = look_at_file(file, st);
	if (rc == 0 && st->st_nlink > 0)
		return file;
	close(file);
	return rc == 0 ? -ESTALE : rc;
}

/* The name was a regular file's a moment ago. */
static int open_by_name(int root, const char *path, unsigned flags, struct stat *st)
{
	int fd = beneath_open(root, path, flags), rc;

	if (fd < 0)
		return fd;
	rc = look_at_file(fd, st);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int beneath_open_file(int root, const char *path, unsigned flags, struct stat *st)
{
	int rc = -ESTALE;

	for (int tries = 0; tries < STALE_TRIES && rc == -ESTALE; tries++)
		rc = open_once(root, path, flags, st);
	/* A kernel that trusts its cached name still asks again when that is opened. */
	return rc == -ESTALE ? open_by_name(root, path, flags, st) : rc;
}

void beneath_refresh(int root, const char *path, bool itself)
{
	size_t n = strlen(path), end = strspn(path, "/");
	char own[PATH_MAX];

	while (end < n && n < sizeof(own)) {
		int fd;

		end += strcspn(path + end, "/");
		if (end == n && !itself)
			return;
		memcpy(own, path, end);
		own[end] = '\0';
		fd = beneath_open(root, own, BENEATH_DIR);
		if (fd < 0)
			return;
		close(fd);
		end += strspn(path + end, "/");
	}
}

DIR *beneath_list(int fd)
{
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir == NULL && fd >= 0)
		close(fd);
	return dir;
}

int beneath_each_in(int fd, beneath_one *one, void *ctx)
{
	DIR *dir = beneath_list(fd);
	const struct dirent *e;
	int rc = 0;

	if (dir == NULL)
		return -errno;
	while (rc == 0) {
		errno = 0;
		e = readdir(dir);
		if (e == NULL) {
			rc = -errno;
			break;
		}
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = one(ctx, dirfd(dir), e->d_name);
	}
	closedir(dir);
	return rc;
}

int beneath_each(int at, const char *name, beneath_one *one, void *ctx)
{
	int fd = beneath_open(at, name, BENEATH_DIR | BENEATH_SAME_MOUNT | BENEATH_NO_LINKS);

	return fd >= 0 ? beneath_each_in(fd, one, ctx) : fd;
}

/* A directory's comparison of names: unknown; by bytes; by bytes without the flag for another way;
 * perhaps ignoring ASCII case. */
enum compares { UNKNOWN, BYTES, BYTES_OR_FLAG, BYTES_OR_CASE };

struct file_system {
	unsigned type;
	enum beneath_kind kind;
	enum compares compares;
};

/* Finds the file system of fd. Those of BENEATH_LOCAL are on this machine's own devices, with a
 * reliable RWF_NOWAIT. */
static struct file_system file_system_of(int fd)
{
	static const struct file_system known[] = {
		{ TMPFS_MAGIC, BENEATH_MEMORY, BYTES_OR_FLAG },
		{ RAMFS_MAGIC, BENEATH_MEMORY, BYTES },
		{ EXT4_SUPER_MAGIC, BENEATH_LOCAL, BYTES_OR_FLAG },
		{ XFS_SUPER_MAGIC, BENEATH_LOCAL, BYTES_OR_CASE },
		{ BTRFS_SUPER_MAGIC, BENEATH_LOCAL, BYTES },
		{ OVERLAYFS_SUPER_MAGIC, BENEATH_LOCAL, BYTES_OR_FLAG },
		{ SQUASHFS_MAGIC, BENEATH_LOCAL, BYTES },
		{ EROFS_SUPER_MAGIC_V1, BENEATH_LOCAL, BYTES },
		{ F2FS_SUPER_MAGIC, BENEATH_LOCAL, BYTES_OR_FLAG },
		{ ISOFS_SUPER_MAGIC, BENEATH_LOCAL, UNKNOWN },
		{ MSDOS_SUPER_MAGIC, BENEATH_LOCAL, UNKNOWN },
		{ EXFAT_SUPER_MAGIC, BENEATH_LOCAL, UNKNOWN },
	};
	struct statfs fs;

	if (TEMP_FAILURE_RETRY(fstatfs(fd, &fs)) == 0)
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if ((unsigned)fs.f_type == known[i].type)
				return known[i];
	return (struct file_system){ .kind = BENEATH_REMOTE, .compares = UNKNOWN };
}

enum beneath_kind beneath_kind(int fd)
{
	return file_system_of(fd).kind;
}

/* --- spelling --------------------------------------------------------------------------------- */

/* A directory that compares names by bytes need not be read; the names of others are read. */

/* True if the end of path[at…] exists in the other case, too. -EAGAIN: a thread must look. */
static int other_case_is_there(int root, char *path, size_t at, unsigned flags)
{
	bool letters = false;
	int fd;

	for (char *p = path + at; *p != '\0'; p++)
		if (isascii((unsigned char)*p) && isalpha((unsigned char)*p)) {
			*p ^= 0x20;
			letters = true;
		}
	if (!letters)
		return 0;
	fd = beneath_open(root, path, flags | BENEATH_PATH | BENEATH_NO_LINK);
	if (fd >= 0)
		close(fd);
	return fd == -EAGAIN && (flags & BENEATH_CACHED) ? -EAGAIN : fd != -ENOENT;
}

static int is_name(void *ctx, int at, const char *name)
{
	const struct slice *wanted = ctx;

	(void)at;
	return slice_eq(*wanted, slice_str(name));
}

/* Takes fd. */
static int find_name(int fd, const char *name, size_t n)
{
	struct slice wanted = slice_of(name, n);
	int rc = beneath_each_in(fd, is_name, &wanted);

	return rc > 0 ? 0 : rc < 0 ? rc : -ENOENT;
}

/*
 * The directory that path[0…at) names, for reading; *how it compares. In a directory without read
 * permission a name can still be looked up.
 */
static int open_dir(int root, char *path, size_t at, unsigned flags, enum compares *how)
{
	char next = path[at];
	int fd;

	path[at] = '\0';
	fd = beneath_open(root, path, flags);
	if (fd == -EACCES) {
		fd = beneath_open(root, path, flags | BENEATH_PATH);
		*how = fd >= 0 ? file_system_of(fd).compares : UNKNOWN;
		if (fd >= 0)
			close(fd);
		if (*how == BYTES_OR_FLAG)
			*how = BYTES_OR_CASE;
		fd = -EACCES;
	} else if (fd >= 0) {
		int folds = 0;

		*how = file_system_of(fd).compares;
		/* ioctl_iflags(2). A file system without flags lacks this one. */
		if (*how == BYTES_OR_FLAG)
			*how = ioctl(fd, FS_IOC_GETFLAGS, &folds) == 0 && (folds & FS_CASEFOLD_FL)
				       ? UNKNOWN
				       : BYTES;
	}
	path[at] = next;
	return fd;
}

/* Checks that the parent directory spells the segment path[at…end) so. */
static int check_segment(int root, char *path, size_t at, size_t end, unsigned flags)
{
	char name[NAME_MAX + 1];
	enum compares how = UNKNOWN;
	int fd, rc = 0;

	if (end - at > NAME_MAX)
		return -ENAMETOOLONG;
	fd = open_dir(root, path, at, flags, &how);
	if (fd < 0 && fd != -EACCES)
		return fd;
	if (how == BYTES_OR_CASE) {
		char next = path[end];

		memcpy(name, path + at, end - at);
		path[end] = '\0';
		rc = other_case_is_there(root, path, at, flags);
		memcpy(path + at, name, end - at);
		path[end] = next;
		how = rc == 0 ? BYTES : UNKNOWN;
	}
	if (how == BYTES || rc < 0) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (fd >= 0 && (flags & BENEATH_CACHED)) {
		close(fd);
		return -EAGAIN;
	}
	return fd < 0 ? fd : find_name(fd, path + at, end - at);
}

int spelling_check(int root, const char *path, unsigned n, unsigned flags)
{
	size_t len = strlen(path), at = 0, end;
	char own[PATH_MAX];
	int rc = 0;

	if (len >= sizeof(own))
		return -ENAMETOOLONG;
	memcpy(own, path, len + 1);
	for (; rc == 0 && n > 0; n--, at = end) {
		while (own[at] == '/')
			at++;
		if (own[at] == '\0')
			break;
		end = at + strcspn(own + at, "/");
		rc = check_segment(root, own, at, end, flags);
	}
	return rc;
}
