/*
 * beneath: opens files below a root only: openat2(2) with RESOLVE_BENEATH, so that no "..",
 * absolute link or magic link leaves it, even if names are moved at the same time. Only with
 * BENEATH_LEAVE may symbolic links lead out.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

enum beneath_flags {
	BENEATH_DIR = 1,        /* a directory, not through any symbolic link */
	BENEATH_SAME_MOUNT = 2, /* stay on the root's mount, else -EXDEV */
	BENEATH_CACHED = 4,     /* -EAGAIN instead of waiting for a disk */
	BENEATH_PATH = 8, /* for fstat() only, of any type: needs no read permission (O_PATH) */
	BENEATH_NO_LINKS = 16, /* not through any symbolic link, else -ELOOP */
	BENEATH_NO_LINK = 32,  /* the last name of path is no symbolic link, else -ELOOP */
	BENEATH_LEAVE = 64,    /* symbolic links may lead out of root; path has no ".." */
};

/* Kinds of file systems, for threads that must not block. */
enum beneath_kind {
	BENEATH_LOCAL,  /* RWF_NOWAIT detects uncached bytes */
	BENEATH_MEMORY, /* reads never wait for a device */
	BENEATH_REMOTE, /* FUSE, network, unknown: every call may block */
};

/*
 * Opens for reading; path may begin with "/", which means root. Never waits for a FIFO. The
 * descriptor, or -errno.
 */
int beneath_open(int root, const char *path, unsigned flags);

/*
 * Opens a regular file for reading, with its facts in *st. Other types are never opened: -EISDIR,
 * or -ENOENT for FIFOs and devices, which even opening affects. A file that another machine
 * replaced or removed is looked for again. The descriptor, or -errno.
 */
int beneath_open_file(int root, const char *path, unsigned flags, struct stat *st);

/*
 * Opens the directories of path by name, and path itself if asked to, none through a link: an NFS
 * client refreshes a directory when its name is opened, and else uses its cache (nfs(5),
 * close-to-open). May block.
 */
void beneath_refresh(int root, const char *path, bool itself);

/* Opens the directory of fd (-1: none) for readdir(3); takes fd, also on failure. NULL with errno.
 */
DIR *beneath_list(int fd);

/* Calls one for each name in the directory of fd, which it takes, or in the directory name of the
 * directory at, through no link, until one returns not 0: that result, 0, or -errno. */
typedef int beneath_one(void *ctx, int at, const char *name);
int beneath_each_in(int fd, beneath_one *one, void *ctx);
int beneath_each(int at, const char *name, beneath_one *one, void *ctx);

/* The kind of fd's file system; may block. */
enum beneath_kind beneath_kind(int fd);

/*
 * spelling: checks that a path is spelled as in its directories. Rules are found by paths, byte by
 * byte; a file system that accepts /SECRET or /SECRET~1 for /secret would bypass them. The keeper
 * ignores names of another spelling, workers answer 404.
 */

/*
 * Checks the first n segments of path, which exists, below the directory root. 0; -ENOENT: its name
 * differs; another -errno. Reads a directory unless its file system is known to compare names by
 * bytes, so it may block; with BENEATH_CACHED it returns -EAGAIN instead. BENEATH_LEAVE as for the
 * opening of path.
 */
int spelling_check(int root, const char *path, unsigned n, unsigned flags);
