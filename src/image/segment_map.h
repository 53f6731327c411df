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

#include "base/list.h"
#include "base/ref.h"
#include "event/offload.h"

/*
 * mapping: sealed memfds, mapped once per process however many image maps share them: the segments
 * that a new image has in common with the one before cost nothing. Any thread may call; a mapping
 * goes with its last user.
 */

struct mapping;

enum {
	MAPPING_PAGE = 4096
}; /* the unit that mapping_copy() copies by, whatever the machine's pages are */

/*
 * The mapping of fd, which stays the caller's; its pages are there, so that no reader faults. May
 * block. NULL: *fault says why.
 */
struct mapping *mapping_get(int fd, const char **fault);

/* May block. */
void mapping_put(struct mapping *m);

const uint8_t *mapping_bytes(const struct mapping *m);
uint64_t mapping_size(const struct mapping *m);

/*
 * From now on mapping_get() finds m no more, and maps the same memfd a second time. False: somebody
 * else uses it, and it is as it was. True also if that was so before.
 */
bool mapping_detach(struct mapping *m);

/*
 * Copies the pages of a detached mapping whose bit in pages is set, and lets the memfd go; the
 * copies are where the pages were, the other bytes read as zeros. Other threads may read the copied
 * pages meanwhile. 0, or -errno: it is as it was.
 */
int mapping_copy(struct mapping *m, const uint64_t *pages);

/* How many can be found: for tests. */
unsigned mapping_count(void);

struct mapping;

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
	struct mapping *mapping;
	const uint8_t *bytes;
	uint64_t size;
	unsigned images;    /* image maps that have it */
	uint64_t orphan_ms; /* clock_ms() when the last of them went */
	struct ref *last;   /* a reference on that one; NULL: none is needed */
	struct job job;
	struct list node;

	/* of an orphan */
	uint64_t *pages; /* a bit for each MAPPING_PAGE that is borrowed; NULL: nobody was asked */
	unsigned found;  /* references that said so */
	uint64_t copied; /* bytes of those pages */
	bool refused;    /* a borrower was told to let go */
	bool copying;    /* a thread has it */
	int closing;     /* the descriptor that the thread closes; -1: there is none */
	int error;       /* of that thread */
};

void segment_maps_init(struct segment_maps *all, struct offload *o);

/* The worker is at its end: those that a thread still has come back to nobody. */
void segment_maps_fini(struct segment_maps *all);

/* Maps fd, which stays the caller's. In any thread; may block. NULL: *fault says why. */
struct segment_map *segment_map_new(int fd, const char **fault);

/* Frees a segment that never joined the others. In any thread; may block. */
void segment_map_free(struct segment_map **s);

/*
 * An image map that has s comes into use: s becomes one of all, unless the same segment is among
 * them; then s is freed. What is returned holds a reference of the image map.
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
