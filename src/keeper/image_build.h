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
static inline void image_build_tick(const struct built_image *img, uint64_t ms)
{
	__atomic_store_n(&img->marks->tick_ms, ms, __ATOMIC_RELEASE);
}

/* Closes and unmaps the rest, and releases the segments; readers keep theirs. */
void built_image_close(struct built_image *img);

/*
 * publish: decides when the next image is made, and knows which of them workers still hold. At most
 * CATALOG_IMAGES are live; at that, or when segments and indexes are at their maximum, the keeper
 * waits for a worker to release one, and meanwhile the marks protect workers from stale files.
 */

struct publish;

/* An image that may be live. */
struct published {
	struct publish *owner;
	struct built_image image;
	struct watch life;
	bool alive, sent;
};

struct publish {
	struct catalog *catalog;
	struct loop *loop;
	void *buf; /* room for the largest body */
	struct published images[CATALOG_IMAGES];
	struct published *newest;  /* NULL: none yet, or no process holds it */
	uint64_t number;           /* of the next one */
	uint64_t ticked_ms;        /* clock_now_ms() of the last tick */
	uint64_t due_ms;           /* when it is needed, 0: no news */
	uint64_t last_ms, cost_ms; /* when the last one was made, and its processor time */
	bool blocked;              /* at the limit of images, or of their bytes */
	bool hurry;                /* an image that is due is made at once, at any cost */
	int trouble;               /* -errno of the last try, 0: none */
	unsigned made;

	/* Called before it is sent, and before each tick: marks changes since the last call. */
	void (*check)(void *ctx);
	/* 0, or -errno: then it is sent again. */
	int (*send)(void *ctx, const struct built_image *img);
	/* An image or a segment was freed. */
	void (*room)(void *ctx);
	void *ctx;
};

/* The caller sets the calls and their context. */
void publish_init(
	struct publish *p, struct catalog *c, struct loop *loop, void *buf, uint64_t number);
void publish_fini(struct publish *p);

/* Tells the readers of every image that the keeper lives; sends an unsent one. */
void publish_tick(struct publish *p);

/* Called often in a long step: checks for changes and writes the tick when it is due; sends no
 * image. */
void publish_midway(struct publish *p);

/* Ends the use of images for further requests: they will not be marked. */
void publish_revoke(const struct publish *p);

/*
 * Makes an image if one is due. walking: files are still being found, so that it may wait for more.
 * Returns milliseconds until the next call, -1: at the next change.
 */
int publish_step(struct publish *p, bool walking);

/* Images that workers hold. */
unsigned publish_alive(const struct publish *p);

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
