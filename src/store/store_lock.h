/*
 * store_lock: locks of files in a folder of uploads, by whichever worker of whichever h2d, at
 * whichever machine. Called in offload threads: waiting blocks.
 *
 * All of a file is locked by flock(2). NFS makes that a lock of all of its bytes, which needs a
 * descriptor for writing, and conflicts with locks of bytes: a file has one kind of lock, or the
 * other. A lock of a folder's own descriptor never leaves the machine there (store_dir_lock()).
 */
#ifndef H2D_STORE_STORE_LOCK_H
#define H2D_STORE_STORE_LOCK_H

#include <sys/types.h>

#include "event/offload.h"

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

#endif
