/*
 * store_dir: one upload's view of the directory of uploads: its lock, its content, and the
 * upload's hidden names in it. Called in offload threads: all calls may block.
 *
 * Hidden names are ".h2d-TAG-N". The file of N 0 is open and locked (flock(2)) as long as the
 * upload lives, so that a sweep that gets that lock may remove all names of the TAG: their upload
 * is dead. No request and no image ever sees them, as they begin with a dot.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "event/offload.h"

/*
 * store_result: the outcome of a step of an upload: done, refused for an error of base/err.def, or
 * failed on the machine. Passed by value, in threads and on the loop.
 */

struct store_result {
	const struct err *err; /* why it is refused; NULL: not */
	int error;             /* errno of the failed system call; 0: none */
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
 * store_lock: locks of files in a directory of uploads, by any worker of any h2d, on any machine.
 * Called in offload threads: waiting blocks.
 *
 * All of a file is locked by flock(2). NFS makes that a lock of all of its bytes, which needs a
 * descriptor for writing, and conflicts with locks of bytes: a file has one kind of lock, or the
 * other. A lock of a directory's own descriptor never leaves the machine there (store_dir_lock()).
 */

/* n 0: all of the file of fd; else n bytes of it, from at. The open file holds it: another open of
 * it, in this process too, is another holder. */
struct store_lock {
	int fd;
	off_t at, n;
};

/* 0; -EAGAIN: another has it; -ENOLCK: the file system has no locks; -errno. */
int store_lock_try(struct store_lock l);

/*
 * Waits for it, three seconds at most: then -EAGAIN, and -ECANCELED if job is no longer needed
 * (NULL: it is). Else like store_lock_try().
 */
int store_lock_wait(struct store_lock l, const struct job *job);

void store_lock_free(struct store_lock l);

enum { STORE_HIDDEN_NAME = 48, STORE_TOKEN = 32, STORE_DIR_FILE = 4096, STORE_FOLDER_MODE = 0777 };

/* Names of h2d's own in the directory. */
enum store_dir_kind {
	STORE_DIR_OTHER,  /* not ours */
	STORE_DIR_TEMP,   /* ".h2d-TAG-N" */
	STORE_DIR_TICKET, /* of a resumable upload (store_ticket.h) */
	STORE_DIR_PART,   /* bytes of such an upload */
};

struct store_dir {
	int root; /* the descriptor it was opened below, and its path there: borrowed */
	const char *path;
	const char *folder; /* the directory of names below it; borrowed; "": itself */
	bool shared;        /* other machines may write to it, too */
	int guard;       /* holds its lock; -1: not locked, or the disk has no room for that file */
	int fd;          /* -1: not open */
	int to;          /* its descriptor; fd: the open directory itself; -1: missing */
	unsigned depth;  /* of directories below it that count in its sum */
	int lock;        /* holds the lock of the hidden names; -1: none yet */
	uint64_t tag;    /* their TAG */
	unsigned hidden; /* numbers used */
	bool no_tmpfile; /* the file system has no files without a name */
};

/* Opens the directory path, below root and through no link; both stay while it is open,
 * d->no_tmpfile and d->depth are the caller's. 0, or -errno; then it is closed. */
int store_dir_open(struct store_dir *d, int root, const char *path);
void store_dir_close(struct store_dir *d);

/*
 * Locks the open directory. While it is locked no worker of any h2d changes a name in it; other
 * programs do not know the lock, which is of a file in it, ".h2d-lock". On a shared file system
 * this machine's cached names were refreshed. 0, or an error of store_lock_wait().
 */
int store_dir_lock(struct store_dir *d, const struct job *job);
void store_dir_unlock(struct store_dir *d);

/* Makes this machine's kernel refresh names in the directory, if other machines may have changed
 * them. */
void store_dir_refresh(const struct store_dir *d);

/* Places later names in folder, "a/b", below the open directory; "": in that itself. It may be
 * missing; no link, no other spelling and no other mount leads to it. */
void store_dir_enter(struct store_dir *d, const char *folder);
void store_dir_leave(struct store_dir *d);

/* Opens that folder likewise; "": the open directory's own descriptor. The descriptor, or
 * -errno. */
int store_dir_find(const struct store_dir *d, const char *folder);

/*
 * Makes the missing parts of folder and enters it again; the open one is locked. *made: how many of
 * its last segments that was, in any case, for store_dir_unmake(), which removes them. 0; -EISDIR:
 * another file has the name of one; -errno.
 */
int store_dir_make(struct store_dir *d, const char *folder, unsigned *made);
void store_dir_unmake(const struct store_dir *d, const char *folder, unsigned made);

/* The cost of a file of that size in the directory. */
static inline uint64_t store_dir_cost(uint64_t size)
{
	return size > STORE_DIR_FILE ? size : STORE_DIR_FILE;
}

/* Waits until the disk has the data of fd: of a file, or the names of the directory. 0, or
 * -errno. */
int store_dir_sync(int fd);

/* Sums up the cost of the regular files in the directory, and of directories below it with their
 * content; of hidden ones only resumable uploads count. 0, or -errno. */
int store_dir_used(const struct store_dir *d, uint64_t *bytes);

/* Opens the directory for readdir(), with an offset of its own; the caller closes it. NULL with
 * errno. */
DIR *store_dir_list(const struct store_dir *d);

enum store_dir_kind store_dir_kind(const char *name);

/* Make names of tickets and parts from a token, and parse them. */
void store_dir_token_name(
	const char *token, enum store_dir_kind kind, char name[STORE_HIDDEN_NAME]);
void store_dir_token(const char *name, char token[STORE_TOKEN + 1]);

/* Creates a file for writing: without a name ("" in hidden), or with that hidden one. The
 * descriptor, or -errno. */
int store_dir_create(struct store_dir *d, char hidden[STORE_HIDDEN_NAME]);

/* Gives the nameless file of fd a hidden name. 0, or -errno. */
int store_dir_hide(struct store_dir *d, int fd, char hidden[STORE_HIDDEN_NAME]);

/* Makes a hidden directory, the first hidden name of d. The descriptor, or -errno. */
int store_dir_hide_folder(struct store_dir *d, char hidden[STORE_HIDDEN_NAME]);
/* Removes it with its content, and the name that has its lock. */
void store_dir_unhide_folder(struct store_dir *d, const char *hidden);

/* Removes the name in the directory at, with all that a directory contains. 0, or -errno. */
int store_dir_unlink(int at, const char *name);

/* Removes the names of dead uploads, each under the directory's lock; without the lock the rest
 * stays until the next time. Returns how many, or -errno. */
int store_dir_sweep(struct store_dir *d);
