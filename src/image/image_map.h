/*
 * image_map: a worker's mapping of one cache image: checked once, off the loop, then read without a
 * system call. Responses borrow from its segments (segment_map.h) only; the next image replaces it,
 * off the loop, unless it has the last of a segment that is still borrowed. files.c makes it,
 * reply_file.c finds entries in it.
 */
#pragma once

#include "image/image.h"
#include "image/segment_map.h"

struct image_map {
	struct ref ref; /* files.c's while it serves new requests, and those of orphans */
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
