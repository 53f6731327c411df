/*
 * files: maps the keeper's images in threads, takes them into use and out of it. The worker calls
 * it on its loop; reply_file.c and disk.c serve files. The keeper is another process: an image that
 * image_open() refuses is never used.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "files/files.h"

/* --- an image --------------------------------------------------------------------------------- */

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

/* --- the image in use, and the disk ----------------------------------------------------------- */

struct files *files_new(struct loop *l, struct offload *o, const struct doc_roots *conf)
{
	struct files *f = calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return NULL;
	f->loop = l;
	f->offload = o;
	f->roots = conf->roots;
	f->nroots = conf->nroots;
	f->codings = conf->codings;
	list_init(&f->mapping);
	listings_init(&f->listings, o, conf->codings);
	budget_init(&f->archives, ACCOUNT_ARCHIVES, ARCHIVES_MAX, ARCHIVES_LEAST, 1);
	budget_init(&f->lists, ACCOUNT_LISTS, LISTING_MEMORY, LISTS_LEAST, 1);
	segment_maps_init(&f->segments, o);
	f->segments.copied_max = ORPHAN_COPIES_MAX;
	rc = doubt_client_init(&f->doubts, l);
	if (rc == 0) {
		f->disk = disk_new(l, o, conf);
		rc = f->disk != NULL ? 0 : -errno;
	}
	if (rc < 0) {
		files_free(&f);
		errno = -rc;
	}
	return f;
}

static void show_image(const struct files *f)
{
	if (f->shown != NULL)
		__atomic_store_n(f->shown, files_image_number(f), __ATOMIC_RELAXED);
}

static void image_mapped(struct image_map *v)
{
	struct files *f = v->owner;

	list_remove(&v->node);
	if (v->fault != NULL)
		log_error("cache: image %llu is invalid and not used: %s",
			(unsigned long long)v->number, v->fault);
	/* A later one may have been faster. */
	if (f == NULL || v->fault != NULL || f->no_image ||
		(f->image != NULL && f->image->number > v->number)) {
		image_map_retire(&v);
		return;
	}
	image_map_retire(&f->image);
	f->image = v;
	show_image(f);
	log_debug("cache: image %llu in use", (unsigned long long)v->number);
}

void files_take_image(struct files *f, uint64_t number, const int *fds, int nfds)
{
	struct image_map *v = image_map_open(&f->segments, number, fds, nfds, image_mapped, f);

	if (v == NULL) {
		log_error("cache: image %llu not used: %s", (unsigned long long)number,
			strerror(errno));
		return;
	}
	list_append(&f->mapping, &v->node);
}

void files_look(struct files *f, void (*ask)(void *ctx, struct lender *lender), void *ctx)
{
	/* A worker that drains gets no new image, so its segments block none. */
	struct lender *lender = f->no_image ? NULL : orphans_due(&f->segments, clock_ms());

	places_look(&f->disk->places);
	if (lender == NULL)
		return;
	ask(ctx, lender);
	orphans_copy(&f->segments);
}

void files_no_image(struct files *f)
{
	f->no_image = true;
	image_map_retire(&f->image);
	show_image(f);
}

bool files_image_fresh(const struct files *f)
{
	return f->image != NULL && image_map_fresh(f->image, clock_ms());
}

uint64_t files_image_number(const struct files *f)
{
	return f->image != NULL ? f->image->number : 0;
}

void files_show_image(struct files *f, uint64_t *where)
{
	f->shown = where;
	show_image(f);
}

void files_free(struct files **fp)
{
	struct files *f = *fp;

	if (f == NULL)
		return;
	*fp = NULL;
	/* Images still being mapped by a thread lose their owner. */
	LIST_EACH(struct image_map, v, node, &f->mapping) {
		v->owner = v->all = NULL;
		list_remove(&v->node);
	}
	image_map_close(&f->image);
	segment_maps_fini(&f->segments);
	doubt_client_fini(&f->doubts);
	disk_free(&f->disk);
	free(f);
}
