/*
 * files: what a worker has of the file trees: the image in use, and behind it the disk, which is
 * the truth: where the image has no fresh entry, the file is opened below its root and read in
 * pieces, on offload threads where that could block. The worker makes it, h2d_reply_file() uses it.
 */
#ifndef H2D_FILES_FILES_H
#define H2D_FILES_FILES_H

#include <stdint.h>

#include "base/lender.h"
#include "base/slice.h"
#include "event/loop.h"
#include "event/offload.h"
#include "image/doc_root.h"

struct files;

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
 * files, if an image has it by now. ask: asks everybody who may have a response (base/lender.h),
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

/* Number of the image in use, 0 for none. */
/* Whether new requests are answered from the image: there is one, and its keeper ticks. */
bool files_image_fresh(const struct files *f);

uint64_t files_image_number(const struct files *f);

/* From now on that number is kept at *where too, written atomically, for others to read. */
void files_show_image(struct files *f, uint64_t *where);

/* After the last request is gone. */
void files_free(struct files **f);

#endif
