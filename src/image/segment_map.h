/*
 * segment_map: a segment mapped by a worker's loop: shared by its image maps, borrowed by the
 * bodies of responses and by their queued bytes. No other part of a response points into an image,
 * so the next image replaces an image map even while a client reads slowly. A segment without an
 * image map is an orphan: it keeps its last one alive, so that the keeper knows of the memory,
 * until it ends or is copied. files.c makes it, reply_file.c borrows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/ref.h"
#include "event/offload.h"

/* Unit of copies, whatever the machine's pages are. */
enum { SEGMENT_MAP_PAGE = 4096 };

/* All segments mapped by a worker. */
struct segment_maps {
	struct list all; /* struct segment_map */
	struct offload *offload;
	uint64_t copied; /* bytes of orphans' copies */
	uint64_t copied_max;
};

struct segment_map {
	union {
		struct ref ref; /* one per image map, and one per borrower */
		struct ref_file file;
	};
	struct segment_maps *of; /* NULL: not joined yet, or the worker ends */
	dev_t dev;               /* of the memfd: its inode number is unique while it is mapped */
	ino_t ino;
	const uint8_t *bytes;
	uint64_t size;
	unsigned images;    /* number of its image maps */
	uint64_t orphan_ms; /* clock_ms() of the end of the last of them */
	struct ref *last;   /* a reference on that one; NULL: not needed */
	struct job job;
	struct list node;

	/* of an orphan */
	uint64_t *pages; /* a bit for each borrowed SEGMENT_MAP_PAGE; NULL: not asked */
	unsigned found;  /* references that answered */
	uint64_t copied; /* bytes of those pages */
	bool refused;    /* a borrower was refused */
	bool copying;    /* a thread has it */
	bool gone;       /* its bytes are copies, and no later image may have it */
	int closing;     /* for the thread to close; -1: none */
	int error;       /* of that thread */
};

void segment_maps_init(struct segment_maps *all, struct offload *o);

/* Ends them with the worker: segments still in a thread lose their owner. */
void segment_maps_fini(struct segment_maps *all);

/*
 * The segment of fd, if it is among all: a new image shares it. The image map gets a reference on
 * the result. NULL: it must be mapped.
 */
struct segment_map *segment_map_find(struct segment_maps *all, int fd);

/*
 * Maps fd, which stays the caller's; its pages are present, so that no reader faults. In any
 * thread; may block. NULL: *fault has the reason.
 */
struct segment_map *segment_map_new(int fd, const char **fault);

/* Frees a segment that never joined the others. In any thread; may block. */
void segment_map_free(struct segment_map **s);

/*
 * The image map of a new s comes into use: s joins all, unless the same segment is among them by
 * now; then a thread frees s. The image map gets a reference on the result.
 */
struct segment_map *segment_map_join(struct segment_maps *all, struct segment_map *s);

/* The image map of s goes out of use. image: its reference, in case s is an orphan now. */
void segment_map_leave(struct segment_map *s, struct ref *image);

/*
 * orphan: a segment without an image in use, from which responses still send. It would keep its
 * last image alive, and new images wait when too many are, so a slow client could stop them: after
 * ORPHAN_MS its borrowed bytes are copied, and the rest, the segment and the image are released.
 * Copies keep their addresses, so no pointers change. A worker looks for orphans once a second, by
 * files_look(); it never blocks.
 */

enum {
	ORPHAN_MS = 3000,              /* most responses take less */
	ORPHAN_COPIES_MAX = 128 << 20, /* bytes that a worker copies, for all orphans */
};

/*
 * The lender to ask all borrowers with, because orphans are due; NULL: none is. orphans_copy()
 * follows in the same call from the loop.
 */
struct lender *orphans_due(struct segment_maps *all, uint64_t now_ms);

/*
 * All borrowers were asked: threads copy the needed bytes. Orphans whose borrowers do not fit, or
 * were refused, are due again at the next look.
 */
void orphans_copy(struct segment_maps *all);
