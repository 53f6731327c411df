/*
 * image_map: maps and unmaps the memfds of one image, in offload threads of a worker. The keeper is
 * another process: an image that image_open() refuses is never used.
 */
#include "image/image_map.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/counters.h"

enum { LIFE = 2 };

static bool is_joined(const struct image_map *v, unsigned segment)
{
	return v->joined >> segment & 1;
}

/* A mapping needs no descriptor; but life must stay open until all are unmapped. */
static void close_fds(struct image_map *v, bool life)
{
	for (unsigned i = 0; i < v->nfds; i++) {
		if (v->fds[i] < 0 || (i == LIFE && !life))
			continue;
		close(v->fds[i]);
		v->fds[i] = -1;
	}
}

/* The loop releases shared segments. */
static void unmap(struct image_map *v)
{
	image_close(&v->index);
	for (unsigned i = 0; i < v->nsegments; i++)
		if (v->segments[i] != NULL && !is_joined(v, i))
			segment_map_free(&v->segments[i]);
}

static void map_work(struct job *j)
{
	struct image_map *v = LIST_ENTRY(j, struct image_map, job);
	uint64_t sizes[IMAGE_SEGMENTS] = { 0 };

	for (unsigned i = 0; v->fault == NULL && i < v->nsegments; i++) {
		if (v->segments[i] == NULL)
			v->segments[i] = segment_map_new(v->fds[i + IMAGE_FDS], &v->fault);
		if (v->segments[i] != NULL)
			sizes[i] = v->segments[i]->size;
	}
	if (v->fault == NULL)
		v->fault = image_open(&v->index, v->fds, sizes, v->nsegments);
	if (v->fault == NULL && v->index.head->number != v->number)
		v->fault = "not the announced number";
	if (v->fault != NULL)
		unmap(v);
	close_fds(v, false);
}

static void map_done(struct job *j)
{
	struct image_map *v = LIST_ENTRY(j, struct image_map, job);

	for (unsigned i = 0; v->all != NULL && v->fault == NULL && i < v->nsegments; i++) {
		if (!is_joined(v, i))
			v->segments[i] = segment_map_join(v->all, v->segments[i]);
		v->joined |= UINT64_C(1) << i;
	}
	v->mapped(v);
}

/* Takes it out of use. */
static void leave_segments(struct image_map *v)
{
	for (unsigned i = 0; i < v->nsegments; i++) {
		if (!is_joined(v, i))
			continue;
		segment_map_leave(v->segments[i], &v->ref);
		v->segments[i] = NULL;
	}
	v->joined = 0;
}

static void unmap_work(struct job *j)
{
	struct image_map *v = LIST_ENTRY(j, struct image_map, job);

	unmap(v);
	close_fds(v, true);
}

static void unmap_done(struct job *j)
{
	COUNT(images, -1);
	free(LIST_ENTRY(j, struct image_map, job));
}

/* The image is retired, and no orphan needs it. */
static void release_image(struct ref *ref)
{
	struct image_map *v = LIST_ENTRY(ref, struct image_map, ref);

	v->job.work = unmap_work;
	v->job.done = unmap_done;
	if (offload_submit(v->offload, &v->job) < 0) {
		unmap_work(&v->job);
		unmap_done(&v->job);
	}
}

void image_map_retire(struct image_map **v)
{
	if (*v == NULL)
		return;
	COUNT(images, 1);
	leave_segments(*v);
	ref_put(&(*v)->ref);
	*v = NULL;
}

struct image_map *image_map_open(struct segment_maps *all, uint64_t number, const int *fds,
	int nfds, void (*mapped)(struct image_map *v), void *owner)
{
	struct image_map *v = NULL;
	int rc = -EPROTO;

	if (nfds >= IMAGE_FDS && nfds <= IMAGE_FDS + IMAGE_SEGMENTS) {
		v = calloc(1, sizeof(*v));
		rc = -ENOMEM;
	}
	if (v == NULL) {
		for (int i = 0; i < nfds; i++)
			close(fds[i]);
		errno = -rc;
		return NULL;
	}
	ref_init(&v->ref, release_image);
	list_init(&v->node);
	v->number = number;
	v->nfds = (unsigned)nfds;
	v->nsegments = v->nfds - IMAGE_FDS;
	memcpy(v->fds, fds, (size_t)nfds * sizeof(*fds));
	v->all = all;
	v->offload = all->offload;
	v->mapped = mapped;
	v->owner = owner;
	for (unsigned i = 0; i < v->nsegments; i++) {
		v->segments[i] = segment_map_find(all, fds[i + IMAGE_FDS]);
		v->joined |= (uint64_t)(v->segments[i] != NULL) << i;
	}
	v->job.work = map_work;
	v->job.done = map_done;
	rc = offload_submit(v->offload, &v->job);
	if (rc < 0) {
		image_map_retire(&v);
		errno = -rc;
	}
	return v;
}

void image_map_close(struct image_map **v)
{
	if (*v == NULL)
		return;
	leave_segments(*v);
	H2D_ASSERT((*v)->ref.count == 1);
	unmap(*v);
	close_fds(*v, true);
	free(*v);
	*v = NULL;
}
