/*
 * variants: compressed forms of the files in the catalogue, made in threads of the keeper that run
 * only when the processor is idle. Small files come first. A thread takes one file at a time, its
 * bytes copied out of the segment.
 */
#ifndef H2D_KEEPER_VARIANTS_H
#define H2D_KEEPER_VARIANTS_H

#include "event/offload.h"
#include "keeper/catalog.h"

enum {
	VARIANTS_SIZES = 33,
	/* Uploads, of which anybody may send any number, have a fifth of one processor at most. */
	VARIANTS_UPLOADS_SHARE = 5,
	VARIANTS_UPLOADS_AHEAD_US = 200000, /* processor time of uploads after a rest */
};

struct variants {
	struct catalog *catalog;
	struct offload *offload;
	unsigned codings; /* bit set by enum coding */
	unsigned threads, running, waiting;
	bool stuck;   /* no segment has room until an image goes */
	bool starved; /* no memory or descriptor: its owner steps again later */
	bool resting; /* uploads wait for their share: its owner steps again later */
	bool upload;  /* an upload is being compressed */
	struct list todo[VARIANTS_SIZES]; /* by the logarithm of their size */
	struct list uploads;              /* files in folders of uploads */
	int64_t allowance_us;             /* processor time that they may take now */
	uint64_t allowed_ms;              /* when it was that */
	uint64_t compressed;              /* so many times in all */
};

/* cpus: processors that h2d may use. 0, or -errno. */
int variants_init(struct variants *t, struct catalog *c, struct loop *loop, unsigned cpus);

/* Waits for what is being compressed: seconds, so not for a process that is to leave. */
void variants_fini(struct variants *t);

/* f is fresh: compresses what there is to compress, sooner or later. */
void variants_want(struct variants *t, struct catalog_file *f);

/* f is about to be freed. */
void variants_gone(struct variants *t, struct catalog_file *f);

/* An image or a body went. */
void variants_room(struct variants *t);

/* Gives idle threads something to do. */
void variants_step(struct variants *t);

/* Files that wait or are being compressed. */
unsigned variants_pending(const struct variants *t);

#endif
