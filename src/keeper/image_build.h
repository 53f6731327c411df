/*
 * image_build: makes an image of the catalogue: the index, the marks and the life pipe; bodies are
 * in their segments already. Keeper only.
 */
#pragma once

#include "event/loop.h"
#include "image/doc_root.h"
#include "image/image.h"
#include "keeper/catalog.h"

/* A finished image of its maker. */
struct built_image {
	int fds[IMAGE_FDS + IMAGE_SEGMENTS]; /* index, marks, life: ours; segments: the store's */
	int nfds;
	int life;                /* the reading end: end of file when no process has the image */
	struct catalog *catalog; /* NULL: no image */
	unsigned slot;
	struct segment *segments[IMAGE_SEGMENTS]; /* held */
	unsigned nsegments;
	uint64_t number;
	uint64_t content; /* bytes in all bodies of the catalogue */
	uint32_t nentries;
	struct image_marks *marks; /* the only writable mapping */
	size_t marks_size;
	uint64_t index_size; /* of the index and the marks in memory */
};

/*
 * Makes an image of every fresh file of c; slot is its free place among the live images. A long
 * step. 0, or -errno: then there is no image to close.
 */
int image_build(struct catalog *c, unsigned slot, uint64_t number, struct built_image *img);

/* Tells the readers of img that all changes up to ms (CLOCK_MONOTONIC) are marked. */
void image_build_tick(const struct built_image *img, uint64_t ms);

/* Closes our descriptors, so that life reports when others have closed theirs. Idempotent. */
void image_build_let_go(struct built_image *img);

/* Closes and unmaps the rest, and releases the segments; readers keep theirs. */
void built_image_close(struct built_image *img);

/*
 * one_image: an image of a single file, read, compressed and indexed like the keeper's. `h2d
 * --explain` makes one of the file it found, so that its answer equals that of a server with a
 * cache. It watches no files and lives as long as the answer.
 */

struct one_image;

/*
 * An image of the file at path ("/a/b") below that root of conf, which outlives the image; runs the
 * loop until it is done, up to seconds if compress. NULL: the file is not cached.
 */
struct one_image *one_image_new(struct loop *l, const struct doc_roots *conf, unsigned root,
	struct slice path, bool compress);

/* The descriptors of the image, which it owns. */
const struct built_image *one_image_built(const struct one_image *i);

void one_image_free(struct one_image **i);
