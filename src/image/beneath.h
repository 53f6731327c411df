/*
 * beneath: opening files below a root, and nowhere else: openat2(2) with RESOLVE_BENEATH, so that
 * no "..", absolute link or magic link leaves it, even if names are moved at the same time. Only
 * who says BENEATH_LEAVE is led elsewhere, by symbolic links.
 */
#ifndef H2D_IMAGE_BENEATH_H
#define H2D_IMAGE_BENEATH_H

#include <stdbool.h>
#include <sys/stat.h>

enum beneath_flags {
	BENEATH_DIR = 1,        /* a directory, not through any symbolic link */
	BENEATH_SAME_MOUNT = 2, /* stay on the root's mount, else -EXDEV */
	BENEATH_CACHED = 4,     /* -EAGAIN instead of waiting for a disk */
	BENEATH_PATH = 8, /* for fstat() only, whatever it is: needs no right to read (O_PATH) */
	BENEATH_NO_LINKS = 16, /* not through any symbolic link, else -ELOOP */
	BENEATH_NO_LINK = 32,  /* the last name of path is no symbolic link, else -ELOOP */
	BENEATH_LEAVE = 64,    /* symbolic links may lead out of root; path has no ".." */
};

/* Kinds of file systems, by what they mean for a thread that must not block. */
enum beneath_kind {
	BENEATH_LOCAL,  /* RWF_NOWAIT tells warm from cold */
	BENEATH_MEMORY, /* reads never wait for a device */
	BENEATH_REMOTE, /* FUSE, network, unknown: every call may block */
};

/*
 * Opens for reading; path may begin with "/", which stands for root. Never waits for a FIFO. The
 * descriptor, or -errno.
 */
int beneath_open(int root, const char *path, unsigned flags);

/*
 * Opens a regular file for reading, and says in *st what it is. Nothing else is ever opened for
 * reading: -EISDIR, or -ENOENT for FIFOs and devices, on which even opening has an effect. What
 * another machine has replaced or removed meanwhile is looked for anew. The descriptor, or -errno.
 */
int beneath_open_file(int root, const char *path, unsigned flags, struct stat *st);

/*
 * Opens the directories that path leads through by their names, and that itself if asked to, none
 * through a link: a client of NFS asks what is in a directory when its name is opened, and else
 * believes what it knew a while ago (nfs(5), close-to-open). May block.
 */
void beneath_refresh(int root, const char *path, bool itself);

/* The kind of the file system that fd is on; may block. */
enum beneath_kind beneath_kind(int fd);

/*
 * spelling: whether a path is spelled as the directories it leads through have it. Rules are found
 * by paths, byte by byte; a file system that takes /SECRET or /SECRET~1 for /secret would lead
 * around them. The keeper takes in no name of another spelling, workers answer 404 to it.
 */

/*
 * Looks at the first n segments of path, which is there, below the directory root. 0; -ENOENT:
 * there it has another name; another -errno. Reads a directory whose file system is not known to
 * compare names by their bytes, so it may block; with BENEATH_CACHED it answers -EAGAIN instead.
 * BENEATH_LEAVE as path was opened with.
 */
int spelling_check(int root, const char *path, unsigned n, unsigned flags);

#endif
