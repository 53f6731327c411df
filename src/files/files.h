/*
 * files: a worker's view of the file trees: the image in use, and the disk, which is the truth:
 * without a fresh entry in the image, the file is opened below its root and read in pieces, on
 * offload threads if that could block. The worker makes it, h2d_reply_file() uses it.
 */
#pragma once

#include <stdint.h>

#include "base/ref.h"
#include "base/slice.h"
#include "event/loop.h"
#include "event/offload.h"
#include "files/disk.h"
#include "files/doubt_client.h"
#include "files/listing.h"
#include "http/coding.h"
#include "image/doc_root.h"
#include "image/image.h"
#include "image/segment_map.h"
#include "share/account.h"

/*
 * coding_memo: results of coding_choose() for the few accept-encoding headers that a worker's
 * clients repeat: parsing one costs more than the rest of a cached file's head. Bounded; a header
 * that hashes to another's entry takes it. One thread.
 */

enum {
	CODING_MEMO_ENTRIES = 16, /* a power of two */
	CODING_MEMO_VALUE = 55,   /* longer ones are read each time */
};

struct coding_memo_entry {
	uint8_t n; /* bytes of value; 0: free */
	char value[CODING_MEMO_VALUE];
	uint8_t choice[1u << CODINGS]; /* by the set of available codings; enum coding plus one, 0:
					* unknown */
};

/* All zero: empty. */
struct coding_memo {
	struct coding_memo_entry entries[CODING_MEMO_ENTRIES];
};

/* coding_choose(), remembered. */
enum coding coding_memo_choose(
	struct coding_memo *m, const struct field *fields, unsigned n, unsigned available);

/*
 * image_map: a worker's mapping of one cache image: checked once, off the loop, then read without a
 * system call. Responses borrow from its segments (segment_map.h) only; the next image replaces it,
 * off the loop, unless it has the last of a segment that is still borrowed. reply_file.c finds
 * entries in it.
 */

struct image_map {
	struct ref ref; /* its owner's while it serves new requests, and those of orphans */
	uint64_t number;
	struct image_index index;
	struct segment_map *segments[IMAGE_SEGMENTS];
	uint64_t joined; /* a bit for each segment shared with other image maps */
	unsigned nsegments;

	int fds[IMAGE_FDS + IMAGE_SEGMENTS]; /* all closed after mapping except life, the last */
	unsigned nfds;
	const char *fault; /* the reason that it was refused */
	struct job job;
	struct offload *offload;
	struct segment_maps *all; /* NULL: the worker ends */
	void (*mapped)(struct image_map *v);
	void *owner;
	struct list node; /* of its owner, while it is being mapped */
};

/*
 * Takes the descriptors, also on failure; maps and checks them in a thread, then calls mapped():
 * with fault set it can only be closed. NULL with errno. all: of the worker, with the threads.
 */
struct image_map *image_map_open(struct segment_maps *all, uint64_t number, const int *fds,
	int nfds, void (*mapped)(struct image_map *v), void *owner);

/* Ends its use for new requests: drops the owner's reference. It counts as an old image from now
 * on. */
void image_map_retire(struct image_map **v);

/* Closes it at once and on the loop, if it has no other owner: a refused one, or at the end of the
 * process. */
void image_map_close(struct image_map **v);

/* True if the keeper ticked lately. */
static inline bool image_map_fresh(const struct image_map *v, uint64_t now_ms)
{
	uint64_t tick = __atomic_load_n(&v->index.marks->tick_ms, __ATOMIC_ACQUIRE);

	/* The clock of this turn may be older than the tick. */
	return (int64_t)(now_ms - tick) <= IMAGE_TICK_MAX_MS;
}

/* The fresh entry of path, NULL: none, or the keeper did not tick lately. */
static inline const struct image_entry *image_map_find(
	const struct image_map *v, uint32_t root, struct slice path, uint64_t now_ms)
{
	const struct image_entry *e;

	if (!image_map_fresh(v, now_ms))
		return NULL;
	e = image_find(v->index.head, root, path);
	if (e == NULL)
		return NULL;
	if (__atomic_load_n(&v->index.marks->stale[e - image_entries(v->index.head)],
		    __ATOMIC_ACQUIRE) != 0)
		return NULL;
	return e;
}

/* The worker uses places_limit() and doubt_client_add() with its parts; other members
 * are for the replies of files/ and the uploads of store/ alone. */
struct files {
	struct loop *loop;
	struct offload *offload;
	const struct doc_root *roots;
	unsigned nroots;
	unsigned codings;        /* of variants that the keeper makes */
	struct coding_memo memo; /* choices for clients */
	struct disk *disk;
	struct listings listings;
	struct budget archives; /* under way */
	struct budget lists;    /* bytes of lists of drives */
	struct doubt_client doubts;
	struct segment_maps segments;
	struct image_map *image; /* for new requests, NULL: none */
	struct list mapping;     /* image maps in preparation */
	bool no_image;           /* draining: takes no image */
	uint64_t *shown;         /* copy of the image's number, NULL: none */
};

/* Opens the roots; a missing one answers 404 until it exists. NULL with errno. */
struct files *files_new(struct loop *l, struct offload *o, const struct doc_roots *conf);

/*
 * A new image arrived (CTL_IMAGE): maps and checks it off the loop, then answers from it. Takes the
 * descriptors. An invalid image is refused with a log line; the old one stays.
 */
void files_take_image(struct files *f, uint64_t number, const int *fds, int nfds);

/*
 * Called about once a second: copies after some seconds what responses borrow of unused images, so
 * that those end, and answers requests that wait for a place among the open files, if an image has
 * the file by now. ask: asks all holders of responses (base/ref.h), before it returns; called only
 * if needed.
 */
void files_look(struct files *f, void (*ask)(void *ctx, struct lender *lender), void *ctx);

/* Releases the image: new requests read the disk (drain). */
void files_no_image(struct files *f);

/* True if new requests are answered from the image: there is one, and its keeper ticks. */
bool files_image_fresh(const struct files *f);

/* Number of the image in use, 0: none. */
uint64_t files_image_number(const struct files *f);

/* Also stores that number at *where, atomically, for others to read. */
void files_show_image(struct files *f, uint64_t *where);

/* Called after the last request. */
void files_free(struct files **f);
