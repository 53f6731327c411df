/*
 * image_build: makes an image of what the catalogue holds: the index, the marks and the life pipe;
 * bodies lie in their segments already. Keeper only.
 */
#ifndef H2D_KEEPER_IMAGE_BUILD_H
#define H2D_KEEPER_IMAGE_BUILD_H

#include "event/loop.h"
#include "image/doc_root.h"
#include "image/image.h"
#include "keeper/catalog.h"

/* A finished image as its maker holds it. */
struct built_image {
	int fds[IMAGE_FDS + IMAGE_SEGMENTS]; /* index, marks, life: ours; segments: the store's */
	int nfds;
	int life;                /* the end that is read: end of file when nobody has the image */
	struct catalog *catalog; /* NULL: there is no image */
	unsigned slot;
	struct segment *segments[IMAGE_SEGMENTS]; /* held */
	unsigned nsegments;
	uint64_t number;
	uint64_t content; /* bytes in bodies */
	uint32_t nentries;
	struct image_marks *marks; /* the only writable mapping */
	size_t marks_size;
	uint64_t index_size; /* of the index and the marks in memory */
};

/*
 * Every fresh file of c; its place among the images alive is slot, which is free. A long step. 0,
 * or -errno: there is nothing to close then.
 */
int image_build(struct catalog *c, unsigned slot, uint64_t number, struct built_image *img);

/* Tells the readers of img that all changes up to ms (CLOCK_MONOTONIC) are marked. */
void image_build_tick(const struct built_image *img, uint64_t ms);

/* No reader uses img for another request. */
void image_build_revoke(const struct built_image *img);

/* Others have its descriptors: closes ours, so that life says when they let go. Idempotent. */
void image_build_let_go(struct built_image *img);

/* Closes and unmaps what is left, and releases the segments; readers keep what they have. */
void built_image_close(struct built_image *img);

/*
 * one_image: an image that has a single file, read, compressed and indexed as the keeper does it.
 * `h2d --explain` makes one of the file it found, so that its answer is the one that a server with
 * a cache gives. It watches nothing and lives as long as the answer.
 */

struct one_image;

/*
 * An image of the file at path ("/a/b") below that root of conf, which outlives the image; turns
 * the loop until it is done, up to seconds if compress. NULL if there can be none: it is not cached
 * then.
 */
struct one_image *one_image_new(struct loop *l, const struct doc_roots *conf, unsigned root,
	struct slice path, bool compress);

/* The descriptors of the image, which stay its own. */
const struct built_image *one_image_built(const struct one_image *i);

void one_image_free(struct one_image **i);

#endif
