/*
 * writer_wait: waits for writers of a file in a thread of its own, for the reader, which runs on
 * the keeper's loop: the loop is held up for some milliseconds at most, whatever a writer does. A
 * thread that waits longer is left to itself.
 */
#ifndef H2D_KEEPER_WRITER_WAIT_H
#define H2D_KEEPER_WRITER_WAIT_H

#include "base/file_id.h"

enum { WRITER_WAIT_MS = 20 };

struct writer_thread;

struct writer_wait {
	struct writer_thread *thread; /* NULL: none is idle */
	unsigned ms;                  /* how long the caller may be held up; tests say so */
};

/* 0: no write is under way. -EAGAIN: one is, or others are waited for: later. -errno. */
int writer_wait(struct writer_wait *w, int fd, const struct file_id *id);
void writer_wait_fini(struct writer_wait *w);

#endif
