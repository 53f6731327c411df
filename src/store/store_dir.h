/*
 * store_dir: the folder that uploads go to, as one upload has it: the folder's lock, what is in it,
 * and the upload's hidden names there. Called in offload threads: everything may block.
 *
 * Hidden names are ".h2d-TAG-N". What bears the N 0 is open and locked (flock(2)) as long as the
 * upload lives, so that a sweep that gets that lock may remove all names of the TAG: their upload
 * is dead. No request and no image ever sees them, as they begin with a dot.
 */
#ifndef H2D_STORE_STORE_DIR_H
#define H2D_STORE_STORE_DIR_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "event/offload.h"

/*
 * store_result: what became of a step of an upload: it was done, or refused for an error of
 * base/err.def, or the machine could not do it. Passed by value, in threads and on the loop.
 */

struct store_result {
	const struct err *err; /* why it is refused; NULL: it is not */
	int error;             /* errno of the system call that failed; 0: none did */
};

#define STORE_OK ((struct store_result){ 0 })

static inline bool store_ok(struct store_result r)
{
	return r.err == NULL && r.error == 0;
}

static inline struct store_result store_refuse(const struct err *err)
{
	return (struct store_result){ .err = err };
}

/* rc: 0, or -errno. */
static inline struct store_result store_errno(int rc)
{
	return (struct store_result){ .error = -rc };
}

/*
 * store_lock: locks of files in a folder of uploads, by whichever worker of whichever h2d, at
 * whichever machine. Called in offload threads: waiting blocks.
 *
 * All of a file is locked by flock(2). NFS makes that a lock of all of its bytes, which needs a
 * descriptor for writing, and conflicts with locks of bytes: a file has one kind of lock, or the
 * other. A lock of a folder's own descriptor never leaves the machine there (store_dir_lock()).
 */

/* n 0: all of what fd has open; else n bytes of a file, from at. It is the open file's: whoever
 * else has opened it, of this process too, is another one. */
struct store_lock {
	int fd;
	off_t at, n;
};

/* 0; -EAGAIN: somebody else has it; -ENOLCK: the file system has no locks; -errno. */
int store_lock_try(struct store_lock l);

/*
 * Waits for it, three seconds at most: then -EAGAIN, and -ECANCELED if nobody wants what job does
 * any more (NULL: somebody does). Else as store_lock_try().
 */
int store_lock_wait(struct store_lock l, const struct job *job);

void store_lock_free(struct store_lock l);

enum { STORE_HIDDEN_NAME = 48, STORE_TOKEN = 32, STORE_DIR_FILE = 4096 };

/* Names in the folder that are h2d's own. */
enum store_dir_kind {
	STORE_DIR_OTHER,  /* nothing */
	STORE_DIR_TEMP,   /* ".h2d-TAG-N" */
	STORE_DIR_TICKET, /* of a resumable upload (store_ticket.h) */
	STORE_DIR_PART,   /* bytes of such an upload */
};

struct store_dir {
	int root; /* the descriptor that it was opened below, and its path there: borrowed */
	const char *path;
	const char *folder; /* the folder below it that names are in; borrowed; "": itself */
	bool shared;        /* other machines may write to it, too */
	int guard; /* holds its lock; -1: it is not locked, or the disk has no room for that file */
	int fd;    /* -1: not open */
	int to;    /* its descriptor; fd: it is the open folder itself; -1: it is not there */
	unsigned depth;  /* of folders below it that count into its sum */
	int lock;        /* holds the lock of the hidden names; -1: there are none yet */
	uint64_t tag;    /* the TAG in them */
	unsigned hidden; /* numbers used up */
	bool no_tmpfile; /* the file system has no files without a name */
};

/* Opens the folder path, below root and through no link; both stay while it is open, d->no_tmpfile
 * and d->depth are the caller's. 0, or -errno; then it is closed. */
int store_dir_open(struct store_dir *d, int root, const char *path);
void store_dir_close(struct store_dir *d);

/*
 * Locks the open folder. While it is locked no worker of any h2d changes what a name in it stands
 * for; other programs do not know of the lock, which is that of a file in it, ".h2d-lock". On a
 * file system that machines share what this machine knows of names was refreshed. 0, or as
 * store_lock_wait().
 */
int store_dir_lock(struct store_dir *d, const struct job *job);
void store_dir_unlock(struct store_dir *d);

/* Has this machine's kernel ask for names in the folder again, where other machines may have
 * changed them. */
void store_dir_refresh(const struct store_dir *d);

/* Names are in folder, "a/b", below the open one, from now on; "": in that itself. It need not be
 * there, and no link, no other spelling and no other mount leads to it. */
void store_dir_enter(struct store_dir *d, const char *folder);

/*
 * Makes what is missing of folder and enters it, anew; the open one is locked. *made: how many of
 * its last segments that was, whatever comes out, for store_dir_unmake(), which removes them. 0;
 * -EISDIR: something else has the name of one; -errno.
 */
int store_dir_make(struct store_dir *d, const char *folder, unsigned *made);
void store_dir_unmake(const struct store_dir *d, const char *folder, unsigned made);

/* The cost of a file of that size in the folder. */
static inline uint64_t store_dir_cost(uint64_t size)
{
	return size > STORE_DIR_FILE ? size : STORE_DIR_FILE;
}

/* Waits until the disk has what fd has open: a file, or the names of the folder. 0, or -errno. */
int store_dir_sync(int fd);

/* Sums up the cost of the regular files in the folder, and of folders below it and what is in them;
 * of hidden ones only those of resumable uploads count. 0, or -errno. */
int store_dir_used(const struct store_dir *d, uint64_t *bytes);

/* Opens the folder for readdir(), with an offset of its own; the caller closes it. NULL with
 * errno. */
DIR *store_dir_list(const struct store_dir *d);

enum store_dir_kind store_dir_kind(const char *name);

/* Names of tickets and parts, made from a token, and taken apart. */
void store_dir_token_name(
	const char *token, enum store_dir_kind kind, char name[STORE_HIDDEN_NAME]);
void store_dir_token(const char *name, char token[STORE_TOKEN + 1]);

/* Creates a file for writing: without a name ("" in hidden), or with that hidden one. The
 * descriptor, or -errno. */
int store_dir_create(struct store_dir *d, char hidden[STORE_HIDDEN_NAME]);

/* Gives the file that fd has open, which has no name, a hidden one. 0, or -errno. */
int store_dir_hide(struct store_dir *d, int fd, char hidden[STORE_HIDDEN_NAME]);

/* Removes the names whose uploads are dead, each under the folder's lock; what is left when that is
 * not to be had stays until the next time. How many, or -errno. */
int store_dir_sweep(struct store_dir *d);

#endif
