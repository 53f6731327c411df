/*
 * files: what a worker has of the file trees: the image in use, and behind it the disk, which is
 * the truth: where the image has no fresh entry, the file is opened below its root and read in
 * pieces, on offload threads where that could block. The worker makes it, h2d_reply_file() uses it.
 */
#ifndef H2D_FILES_FILES_H
#define H2D_FILES_FILES_H

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
 * coding_memo: what coding_choose() said of the few accept-encoding fields that clients of one
 * worker send again and again: reading one costs more than the rest of a cached file's head.
 * Bounded; a field that falls on another's entry takes it. One thread.
 */

enum {
	CODING_MEMO_ENTRIES = 16, /* a power of two */
	CODING_MEMO_VALUE = 55,   /* longer ones are read each time */
};

struct coding_memo_entry {
	uint8_t n; /* bytes of value; 0: nobody has the entry */
	char value[CODING_MEMO_VALUE];
	uint8_t choice[1u << CODINGS]; /* by what is available; enum coding plus one, 0: not asked
					  yet */
};

/* All zero: empty. */
struct coding_memo {
	struct coding_memo_entry entries[CODING_MEMO_ENTRIES];
};

/* As coding_choose(). */
enum coding coding_memo_choose(
	struct coding_memo *m, const struct field *fields, unsigned n, unsigned available);

/* Its members are for the replies of files/ and the uploads of store/ alone. */
struct files {
	struct loop *loop;
	struct offload *offload;
	const struct doc_root *roots;
	unsigned nroots;
	struct slice *charsets;  /* of roots: what the types of an image carry; n 0: none */
	unsigned codings;        /* of variants that the keeper makes */
	struct coding_memo memo; /* codings that clients take */
	struct disk *disk;
	struct listings listings;
	struct doubt_client doubts;
	struct segment_maps segments;
	struct image_map *image; /* for new requests, NULL for none */
	struct list mapping;     /* image maps on their way */
	bool no_image;           /* draining: none any more */
	uint64_t *shown;         /* where the number of image is kept, NULL for nowhere */
};

/* Opens the roots; one that is not there answers 404 until it is. NULL with errno. */
struct files *files_new(struct loop *l, struct offload *o, const struct doc_roots *conf);

/*
 * A new image arrived (CTL_IMAGE): maps and checks it off the loop, then answers from it. Takes the
 * descriptors. An image that does not check out is refused with a log line; the old one stays.
 */
void files_take_image(struct files *f, uint64_t number, const int *fds, int nfds);

/*
 * Called about once a second: has what responses borrow of images that are not used any more copied
 * after some seconds, so that those images go, and answers what waits for a place among the open
 * files, if an image has it by now. ask: asks everybody who may have a response (base/ref.h),
 * before it returns; called only when that is needed.
 */
void files_look(struct files *f, void (*ask)(void *ctx, struct lender *lender), void *ctx);

/* How many files may be open for responses from now on; those that are stay so. */
void files_limit(struct files *f, unsigned open);

/* Gives back what is kept for files to come. */
void files_trim(struct files *f);

/* A keeper is to be told of changes from now on (doubt_client.h). Takes fd. */
void files_take_keeper(struct files *f, int fd);

/* Lets go of the image: new requests read the disk (drain). */
void files_no_image(struct files *f);

/* Whether new requests are answered from the image: there is one, and its keeper ticks. */
bool files_image_fresh(const struct files *f);

/* Number of the image in use, 0 for none. */
uint64_t files_image_number(const struct files *f);

/* From now on that number is kept at *where too, written atomically, for others to read. */
void files_show_image(struct files *f, uint64_t *where);

/* After the last request is gone. */
void files_free(struct files **f);

#endif
