/*
 * one_image: an image that has a single file, read, compressed and indexed as the keeper does it.
 * `h2d --explain` makes one of the file it found, so that its answer is the one that a server with
 * a cache gives. It watches nothing and lives as long as the answer.
 */
#ifndef H2D_KEEPER_ONE_IMAGE_H
#define H2D_KEEPER_ONE_IMAGE_H

#include "event/loop.h"
#include "image/doc_root.h"
#include "keeper/image_build.h"

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
