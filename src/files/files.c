/*
 * files: takes the keeper's images into use and out of it. The worker calls it on its loop;
 * reply_file.c and disk.c serve files. It never maps memory on the loop.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "files/files.h"
#include "image/segment_map.h"

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
	f->charsets = calloc(conf->nroots + 1, sizeof(*f->charsets));
	for (unsigned i = 0; f->charsets != NULL && i < conf->nroots; i++)
		f->charsets[i] = slice_str(conf->roots[i].charset);
	list_init(&f->mapping);
	listings_init(&f->listings, o, conf->codings);
	segment_maps_init(&f->segments, o);
	f->segments.copied_max = ORPHAN_COPIES_MAX;
	rc = doubt_client_init(&f->doubts, l);
	if (rc == 0 && f->charsets == NULL)
		rc = -ENOMEM;
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
	LIST_FOREACH(node, &f->mapping) {
		struct image_map *v = LIST_ENTRY(node, struct image_map, node);

		v->owner = v->all = NULL;
		list_remove(node);
	}
	image_map_close(&f->image);
	segment_maps_fini(&f->segments);
	doubt_client_fini(&f->doubts);
	disk_free(&f->disk);
	free(f->charsets);
	free(f);
}
