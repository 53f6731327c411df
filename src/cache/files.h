/*
 * files: a worker's view of the file trees: the current cache image, and behind it the disk. It is
 * what h2d_reply_file() asks. The disk is the truth: where the image has no fresh entry, the file is
 * opened below its root and read in pieces, on offload threads where that could block.
 */
#ifndef H2D_CACHE_FILES_H
#define H2D_CACHE_FILES_H

#include <stdint.h>

#include "base/slice.h"
#include "event/loop.h"
#include "event/offload.h"

struct files;

/* One tree. All strings are borrowed and outlive the files. */
struct files_root {
	const char *root;         /* directory */
	const char *charset;      /* of its text files, "" for none */
};

struct files_conf {
	const struct files_root *roots;
	unsigned nroots;
	uint64_t max_size;        /* of an image's content; 0: no image is built */
	uint64_t max_file_size;
	unsigned codings;         /* bit set by enum coding: which twins are made */
	uint64_t rescan_ms;       /* how often the keeper looks at everything */
};

/* Opens the roots; one that is not there answers 404 until it is. NULL with errno. */
struct files *files_new(struct loop *l, struct offload *o, const struct files_conf *conf);

/*
 * A new image arrived (CTL_IMAGE): maps and checks it off the loop, then answers from it. Takes the
 * descriptors. An image that does not check out is refused with a log line; the old one stays.
 */
void files_take_image(struct files *f, uint64_t number, const int *fds, int nfds);

/* Lets go of the image: new requests read the disk (drain). */
void files_no_image(struct files *f);

/* Number of the image in use, 0 for none. */
uint64_t files_image_number(const struct files *f);

/* From now on that number is kept at *where too, written atomically, for others to read. */
void files_show_image(struct files *f, uint64_t *where);

/* After the last request is gone. */
void files_free(struct files **f);

#endif
