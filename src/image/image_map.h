/*
 * image_map: one cache image as a worker maps it: checked once, off the loop, then read without a
 * system call. Responses borrow from its segments (segment_map.h) and from nothing else of it; when
 * the next one is there it goes, off the loop, unless it has the last of a segment that is still
 * borrowed. files.c makes it, reply_file.c finds entries in it.
 */
#ifndef H2D_IMAGE_IMAGE_MAP_H
#define H2D_IMAGE_IMAGE_MAP_H

#include "image/image.h"
#include "image/segment_map.h"

struct image_map {
	struct ref ref; /* one held by files.c while it serves new requests, and those of orphans */
	uint64_t number;
	const struct image_head *head;
	const struct image_marks *marks;
	struct segment_map *segments[IMAGE_SEGMENTS];
	uint64_t joined; /* a bit for each of them that is shared with other image maps */
	uint64_t sizes[IMAGE_FDS + IMAGE_SEGMENTS]; /* of index, marks, –, segments */
	unsigned nsegments;

	int fds[IMAGE_FDS +
		IMAGE_SEGMENTS]; /* all closed after mapping but life, which goes last */
	unsigned nfds;
	const char *fault; /* why it was refused */
	struct job job;
	struct offload *offload;
	struct segment_maps *all; /* NULL: the worker is at its end */
	void (*mapped)(struct image_map *v);
	void *owner;
	struct list node; /* of its owner, while it is being mapped */
};

/*
 * Takes the descriptors, also on failure; maps and checks them in a thread, then calls mapped():
 * with fault set it is no image map yet, only to be closed. NULL with errno. all: of the worker,
 * with the threads.
 */
struct image_map *image_map_open(struct segment_maps *all, uint64_t number, const int *fds,
	int nfds, void (*mapped)(struct image_map *v), void *owner);

/* No new requests any more: gives up the owner's reference. It counts as an old image from now on.
 */
void image_map_retire(struct image_map **v);

/* At once and on the loop, when nobody else has it: a refused one, or at the end of the process. */
void image_map_close(struct image_map **v);

/* Whether the keeper ticked lately. */
static inline bool image_map_fresh(const struct image_map *v, uint64_t now_ms)
{
	uint64_t tick = __atomic_load_n(&v->marks->tick_ms, __ATOMIC_ACQUIRE);

	/* The clock of this turn may be older than the tick. */
	return (int64_t)(now_ms - tick) <= IMAGE_TICK_MAX_MS;
}

/* The fresh entry of path, NULL if there is none, or if the keeper did not tick lately. */
static inline const struct image_entry *image_map_find(
	const struct image_map *v, uint32_t root, struct slice path, uint64_t now_ms)
{
	const struct image_entry *e;

	if (!image_map_fresh(v, now_ms))
		return NULL;
	e = image_find(v->head, root, path);
	if (e == NULL)
		return NULL;
	if (__atomic_load_n(&v->marks->stale[e - image_entries(v->head)], __ATOMIC_ACQUIRE) != 0)
		return NULL;
	return e;
}

#endif
