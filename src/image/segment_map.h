/*
 * segment_map: one segment as the loop of a worker uses it: shared by the image maps that have it,
 * borrowed by the bodies of responses and by what is sent of them. Nothing else of a response
 * points into an image, so an image map goes as soon as the next one is there, though a
 * client reads slowly. A segment that no image map has any more is an orphan: it keeps the last one
 * that had it alive, so that the keeper knows of the memory, until it goes itself or is copied.
 * image_map.c makes it, reply_file.c borrows it.
 */
#ifndef H2D_IMAGE_SEGMENT_MAP_H
#define H2D_IMAGE_SEGMENT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/ref.h"
#include "event/offload.h"

/* Bytes that are copied together, whatever the machine's pages are. */
enum { SEGMENT_MAP_PAGE = 4096 };

/* The segments that a worker has mapped. */
struct segment_maps {
	struct list all; /* struct segment_map */
	struct offload *offload;
	uint64_t copied; /* bytes of orphans that are copies */
	uint64_t copied_max;
};

struct segment_map {
	union {
		struct ref ref; /* each image map that has it holds one, and each borrower */
		struct ref_file file;
	};
	struct segment_maps *of; /* NULL: not joined yet, or the worker is at its end */
	dev_t dev;               /* of the memfd: it keeps its inode as long as it is mapped */
	ino_t ino;
	const uint8_t *bytes;
	uint64_t size;
	unsigned images;    /* image maps that have it */
	uint64_t orphan_ms; /* clock_ms() when the last of them went */
	struct ref *last;   /* a reference on that one; NULL: none is needed */
	struct job job;
	struct list node;

	/* of an orphan */
	uint64_t *pages; /* a bit for each SEGMENT_MAP_PAGE that is borrowed; NULL: nobody was asked
			  */
	unsigned found;  /* references that said so */
	uint64_t copied; /* bytes of those pages */
	bool refused;    /* a borrower was told to let go */
	bool copying;    /* a thread has it */
	bool gone;       /* its bytes are copies, and no image that is to come may have it */
	int closing;     /* the descriptor that the thread closes; -1: there is none */
	int error;       /* of that thread */
};

void segment_maps_init(struct segment_maps *all, struct offload *o);

/* The worker is at its end: those that a thread still has come back to nobody. */
void segment_maps_fini(struct segment_maps *all);

/*
 * The segment that fd is, which is among all: a new image has it, too, for nothing. What is
 * returned holds a reference of the image map. NULL: it is to be mapped.
 */
struct segment_map *segment_map_find(struct segment_maps *all, int fd);

/*
 * Maps fd, which stays the caller's; its pages are there, so that no reader faults. In any thread;
 * may block. NULL: *fault says why.
 */
struct segment_map *segment_map_new(int fd, const char **fault);

/* Frees a segment that never joined the others. In any thread; may block. */
void segment_map_free(struct segment_map **s);

/*
 * An image map that has s, which is new, comes into use: s becomes one of all, unless the same
 * segment is among them by now; then a thread frees s. What is returned holds a reference of the
 * image map.
 */
struct segment_map *segment_map_join(struct segment_maps *all, struct segment_map *s);

/* The image map that has s goes out of use. image: what keeps that alive, if s is an orphan now. */
void segment_map_leave(struct segment_map *s, struct ref *image);

/* The segment that ref counts for; NULL: it is something else's. */
struct segment_map *segment_map_of(struct ref *ref);

/* It needs the last image map no more. */
void segment_map_let_last_go(struct segment_map *s);

/* n bytes more of it are copies, or less. */
void segment_map_copied(struct segment_map *s, int64_t n);

/*
 * orphan: a segment that no image in use has, and that responses still send from. It would keep its
 * last image alive, and new images wait when too many are, so a client that reads slowly could stop
 * them: after ORPHAN_MS what is borrowed of it is copied, and the rest, the segment and the image
 * are let go. What is copied stays where it was seen, so nobody's pointers change. A worker looks
 * for orphans once a second, by files_look(); it never blocks.
 */

enum {
	ORPHAN_MS = 3000,              /* most responses take less */
	ORPHAN_COPIES_MAX = 128 << 20, /* bytes that a worker copies, all orphans together */
};

/*
 * The lender that all borrowers are to be asked with, because orphans are due; NULL: none is.
 * orphans_copy() follows in the same call from the loop.
 */
struct lender *orphans_due(struct segment_maps *all, uint64_t now_ms);

/*
 * All borrowers were asked: threads copy what they need. Orphans whose borrowers do not fit, or are
 * to let go, are due again at the next look.
 */
void orphans_copy(struct segment_maps *all);

#endif
