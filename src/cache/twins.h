/*
 * twins: compressed forms of the files in the catalogue, made in threads of the keeper that run only
 * when nobody else wants the processor. Small files first. One file at a time per thread, its bytes
 * copied out of the segment; what changed meanwhile gets nothing of it.
 */
#ifndef H2D_CACHE_TWINS_H
#define H2D_CACHE_TWINS_H

#include "cache/catalog.h"
#include "event/offload.h"

enum { TWINS_SIZES = 33 };

struct twins {
	struct catalog *catalog;
	struct offload *offload;           /* NULL: nothing is to be compressed */
	unsigned codings;                  /* bit set by enum coding */
	unsigned threads, running, waiting;
	bool stuck;                        /* no segment has room until an image goes */
	struct list todo[TWINS_SIZES];     /* by the logarithm of their size */
	uint64_t compressed;               /* so many times in all */
};

/* 0, or -errno. */
int twins_init(struct twins *t, struct catalog *c, struct loop *loop);

/* Waits for what is being compressed: seconds, so not for a process that is to leave. */
void twins_fini(struct twins *t);

/* f is fresh: compresses what there is to compress, sooner or later. */
void twins_want(struct twins *t, struct catalog_file *f);

/* f is about to be freed. */
void twins_gone(struct twins *t, struct catalog_file *f);

/* An image or a body went. */
void twins_room(struct twins *t);

/* Gives idle threads something to do. */
void twins_step(struct twins *t);

/* Files that wait or are being compressed. */
unsigned twins_pending(const struct twins *t);

#endif
