/*
 * spelling: see spelling.h. A directory that tells names apart by their bytes says all that is to
 * be known without being read; of others the names are read. Runs on the loop and in threads, keeps
 * nothing.
 */
#include "image/spelling.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "image/beneath.h"

/* How a directory compares names: they are their bytes; so unless it has the flag for another way;
 * so but perhaps for the case of ASCII letters; nothing. */
enum compares { BYTES, BYTES_OR_FLAG, BYTES_OR_CASE, UNKNOWN };

static enum compares compares(int fd)
{
	static const struct {
		unsigned type;
		enum compares compares;
	} known[] = {
		{ BTRFS_SUPER_MAGIC, BYTES },
		{ SQUASHFS_MAGIC, BYTES },
		{ EROFS_SUPER_MAGIC_V1, BYTES },
		{ RAMFS_MAGIC, BYTES },
		{ EXT4_SUPER_MAGIC, BYTES_OR_FLAG },
		{ F2FS_SUPER_MAGIC, BYTES_OR_FLAG },
		{ TMPFS_MAGIC, BYTES_OR_FLAG },
		{ OVERLAYFS_SUPER_MAGIC, BYTES_OR_FLAG },
		{ XFS_SUPER_MAGIC, BYTES_OR_CASE },
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return UNKNOWN;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((unsigned)fs.f_type == known[i].type)
			return known[i].compares;
	return UNKNOWN;
}

/* ioctl_iflags(2). A file system that has no flags has not this one. */
static bool has_fold_flag(int fd)
{
	int flags = 0;

	return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0;
}

/* Whether what path[at…] ends in is there in the other case, too. -EAGAIN: a thread must look. */
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

/* Takes fd. */
static int find_name(int fd, const char *name, size_t n)
{
	const struct dirent *e;
	DIR *dir = fdopendir(fd);
	int rc = -ENOENT;

	if (dir == NULL) {
		rc = -errno;
		close(fd);
		return rc;
	}
	do {
		errno = 0;
		e = readdir(dir);
		if (e == NULL && errno != 0)
			rc = -errno;
		else if (e != NULL && strlen(e->d_name) == n && memcmp(e->d_name, name, n) == 0)
			rc = 0;
	} while (e != NULL && rc != 0);
	closedir(dir);
	return rc;
}

/*
 * The directory that path[0…at) names, for reading; *how it compares. A directory that may be
 * entered and not read can still be asked for a name.
 */
static int open_dir(int root, char *path, size_t at, unsigned flags, enum compares *how)
{
	char next = path[at];
	int fd;

	path[at] = '\0';
	fd = beneath_open(root, path, flags);
	if (fd == -EACCES) {
		fd = beneath_open(root, path, flags | BENEATH_PATH);
		*how = fd >= 0 ? compares(fd) : UNKNOWN;
		if (fd >= 0)
			close(fd);
		if (*how == BYTES_OR_FLAG)
			*how = BYTES_OR_CASE;
		fd = -EACCES;
	} else if (fd >= 0) {
		*how = compares(fd);
		if (*how == BYTES_OR_FLAG)
			*how = has_fold_flag(fd) ? UNKNOWN : BYTES;
	}
	path[at] = next;
	return fd;
}

/* The segment path[at…end): whether the directory in front of it calls it so. */
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
