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
#include "image/image_map.h"

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

/* The worker uses disk_trim(), places_limit() and doubt_client_add() with its parts; other members
 * are for the replies of files/ and the uploads of store/ alone. */
struct files {
	struct loop *loop;
	struct offload *offload;
	const struct doc_root *roots;
	unsigned nroots;
	struct slice *charsets;  /* of roots: charset of an image's types; n 0: none */
	unsigned codings;        /* of variants that the keeper makes */
	struct coding_memo memo; /* choices for clients */
	struct disk *disk;
	struct listings listings;
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
