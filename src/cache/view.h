/*
 * view: one cache image as a worker maps it: checked once, off the loop, then read without a system
 * call. Lives until its last borrower lets go; unmapped off the loop. Made by files.c.
 */
#ifndef H2D_CACHE_VIEW_H
#define H2D_CACHE_VIEW_H

#include "base/ref.h"
#include "cache/image.h"
#include "event/offload.h"

struct mapping;

struct view {
	struct ref ref;            /* one held by whoever uses it for new requests */
	uint64_t number;
	const struct image_head *head;
	const struct image_marks *marks;
	const uint8_t *segments[IMAGE_SEGMENTS];
	struct mapping *mappings[IMAGE_SEGMENTS]; /* of segments, shared with other views */
	uint64_t sizes[IMAGE_FDS + IMAGE_SEGMENTS]; /* of index, marks, –, segments */
	unsigned nsegments;

	int fds[IMAGE_FDS + IMAGE_SEGMENTS]; /* all closed after mapping but life, which goes last */
	unsigned nfds;
	const char *fault;         /* why it was refused */
	struct job job;
	struct offload *offload;
	void (*mapped)(struct view *v);
	void *owner;
	struct list node;          /* of its owner, while it is being mapped */
};

/*
 * Takes the descriptors, also on failure; maps and checks them in a thread, then calls mapped(): with
 * fault set it is no view yet, only to be closed. NULL with errno.
 */
struct view *view_open(struct offload *o, uint64_t number, const int *fds, int nfds,
	void (*mapped)(struct view *v), void *owner);

/* No new requests any more: gives up the owner's reference. It counts as an old image from now on. */
void view_retire(struct view **v);

/* At once and on the loop, when nobody else has it: a refused one, or at the end of the process. */
void view_close(struct view **v);

/* The fresh entry of path, NULL if there is none, or if the keeper did not tick lately. */
static inline const struct image_entry *view_find(const struct view *v, uint32_t root,
	struct slice path, uint64_t now_ms)
{
	uint64_t tick = __atomic_load_n(&v->marks->tick_ms, __ATOMIC_ACQUIRE);
	const struct image_entry *e;

	/* The clock of this turn may be older than the tick. */
	if ((int64_t)(now_ms - tick) > IMAGE_TICK_MAX_MS)
		return NULL;
	e = image_find(v->head, root, path);
	if (e == NULL)
		return NULL;
	if (__atomic_load_n(&v->marks->stale[e - image_entries(v->head)], __ATOMIC_ACQUIRE) != 0)
		return NULL;
	return e;
}

#endif
