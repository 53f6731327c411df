/*
 * segment: the memfds that bodies lie in, and which of their bytes still count. A segment is
 * written to its end, sealed, and never changed: other bytes go into another segment. It goes when
 * neither a body of the catalogue nor an image is left in it. One thread of the keeper calls it.
 */
#ifndef H2D_KEEPER_SEGMENT_H
#define H2D_KEEPER_SEGMENT_H

#include <stdbool.h>

#include "base/list.h"
#include "image/etag.h"
#include "image/image.h"
#include "keeper/pause.h"

struct segment {
	struct list node;   /* of the store */
	struct list bodies; /* bodies that count */
	int fd;             /* for reading once it is sealed, until then for both */
	bool sealed;
	uint64_t used;   /* bytes written */
	uint64_t live;   /* bytes of bodies that count, each rounded up to IMAGE_ALIGN */
	unsigned images; /* images with it that workers may hold */
	uint32_t number; /* in the image that is being made: image_build.c's own */
};

/* Bytes in a segment; it may be moved to another one. */
struct segment_body {
	struct list node;
	struct segment *segment;
	uint32_t at, n;
	char etag[IMAGE_ETAG];
};

struct segments {
	struct list all;
	struct segment *open; /* the one that is written; NULL: none */
	unsigned n;
	uint64_t bytes;   /* of all of them */
	uint64_t indexes; /* bytes of the indexes of all images alive: image_build.c's to count */
	uint64_t index_next; /* bytes that the next index takes at most: catalog.c's to count */
	uint64_t bytes_max;  /* of segments and indexes: past it nothing is written */
	uint64_t spare;      /* of them: for what is moved, or a full store could never be moved */
	uint64_t size;       /* a larger one holds a single body */
};

/* The room that n bytes take in a segment. */
static inline uint64_t segment_room(uint64_t n)
{
	return (n + IMAGE_ALIGN - 1) & ~(uint64_t)(IMAGE_ALIGN - 1);
}

/*
 * Bytes that the segments of one image hold for certain, when each has that many bytes and bodies
 * have up to max_body: a segment ends where the next body does not fit.
 */
uint64_t segments_hold(uint64_t segment, uint64_t max_body);

/* How much of max_size that is. */
uint64_t segments_max_size(uint64_t max_size, uint64_t max_body);

/* For bodies and an index that take max_size bytes: twice that may be alive. */
void segments_init(struct segments *s, uint64_t max_size);

/* No body may be left. Readers keep what they have. */
void segments_fini(struct segments *s);

/* Whether n bytes more leave room for what is moved, for the next index and for the one after it.
 */
bool segments_have_room(const struct segments *s, uint64_t n);

/* Whether the next index fits beside what is alive, and what is moved before with it. */
bool segments_fit_index(const struct segments *s);

/*
 * Writes n bytes of data: *out is the new body. -EAGAIN: the bytes alive are at their maximum, or
 * there are too many segments, until something goes. Another -errno: the machine is short of
 * something.
 */
int segments_put(struct segments *s, const void *data, size_t n, const struct etag *etag,
	struct segment_body **out);

/* The body counts no more; sets it NULL. */
void segments_drop(struct segments *s, struct segment_body **b);

/* All n bytes of b to the memory at to. 0, or -errno. */
int segments_read(const struct segment_body *b, void *to);

/*
 * Moves the bodies of a segment that is a quarter dead, or small beside what was written last, to
 * the one that is being written: so there are never many. A part at a time: at most about s->size
 * bytes are moved, in a long step. buf has room for the largest body; pause may be NULL. 0, or
 * -errno; what could not be moved stays.
 */
int segments_compact(struct segments *s, void *buf, struct pause *pause);

/* True: segments_compact() would free something now. */
bool segments_can_compact(const struct segments *s);

/* Seals what is being written: before an image refers to it. 0, or -errno. */
int segments_seal(struct segments *s);

/*
 * A sealed segment that another keeper made, for a body of n bytes in it; if there is room, and if
 * what is left of it could be moved. Takes fd, also on failure. NULL with errno.
 */
struct segment *segments_take_over(struct segments *s, int fd, size_t n);

/* Bytes of a segment that was taken over, that lie in it. NULL when memory is out. */
struct segment_body *segments_take_body(struct segment *g, const struct image_body *from);

/* An image refers to g, or does no more. */
void segment_hold(struct segment *g);
void segment_release(struct segments *s, struct segment *g);

#endif
