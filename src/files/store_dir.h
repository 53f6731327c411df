/*
 * store_dir: the folder that uploads go to, as one upload has it: the folder's lock, what is in it,
 * and the upload's hidden names there. Called in offload threads: everything may block.
 *
 * Hidden names are ".h2d-TAG-N". What bears the N 0 is open and locked (flock(2)) as long as the
 * upload lives, so that a sweep that gets that lock may remove all names of the TAG: their upload
 * is dead. No request and no image ever sees them, as they begin with a dot.
 */
#ifndef H2D_FILES_STORE_DIR_H
#define H2D_FILES_STORE_DIR_H

#include <stdbool.h>
#include <stdint.h>

enum { STORE_HIDDEN_NAME = 48 };

struct store_dir {
	int fd;          /* -1: not open */
	int lock;        /* of the hidden names; -1: there were none yet */
	uint64_t tag;    /* in them */
	unsigned hidden; /* how many numbers are used up */
	bool no_tmpfile; /* the file system has no files without a name */
};

/* Opens the folder path, below root and through no link; d->no_tmpfile is the caller's. 0, or
 * -errno; then it is closed. */
int store_dir_open(struct store_dir *d, int root, const char *path);
void store_dir_close(struct store_dir *d);

/*
 * Between the two nobody else who takes the lock changes what a name in the folder stands for: no
 * worker of any h2d. Others who write there do not know of it. 0; -EAGAIN if it was not to be had
 * for three seconds; -errno.
 */
int store_dir_lock(const struct store_dir *d);
void store_dir_unlock(const struct store_dir *d);

/* Bytes of the regular files in it, without hidden ones. 0, or -errno. */
int store_dir_used(const struct store_dir *d, uint64_t *bytes);

/* A file for writing, which has no name yet, or the hidden one number *hidden. -1: none. The
 * descriptor, or -errno. */
int store_dir_create(struct store_dir *d, int *hidden);

/* Gives the file that fd has open, which has no name, a hidden one. Its number, or -errno. */
int store_dir_hide(struct store_dir *d, int fd);

void store_dir_hidden_name(const struct store_dir *d, int number, char name[STORE_HIDDEN_NAME]);

/* Removes the names whose uploads are dead. How many, or -errno. */
int store_dir_sweep(const struct store_dir *d);

#endif
