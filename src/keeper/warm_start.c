/*
 * warm_start: maps an earlier image, checks it with image_check(), and finds files in it during the
 * first walk. Called by scan.c and keeper.c; it never trusts an offset of an unchecked image.
 */
#include "keeper/scan.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "image/memfd.h"

static const char *open_image(struct warm_start *a)
{
	uint64_t sizes[IMAGE_SEGMENTS];
	unsigned nsegments = (unsigned)a->nfds - IMAGE_FDS;

	for (unsigned i = 0; i < nsegments; i++) {
		off_t size = memfd_sealed_size(a->fds[IMAGE_FDS + i], true);

		if (size < 0)
			return "a segment is not sealed";
		sizes[i] = (uint64_t)size;
	}
	return image_open(&a->index, a->fds, sizes, nsegments);
}

/* Trees are the same if their paths are, in any order of server blocks. */
static bool match_roots(struct warm_start *a, const struct catalog *c)
{
	const struct image_root *theirs = image_roots(a->index.head);
	const char *strings = image_strings(a->index.head);

	a->roots = calloc(c->nroots + 1, sizeof(*a->roots));
	for (unsigned i = 0; a->roots != NULL && i < c->nroots; i++)
		for (uint32_t k = 0; k < a->index.head->nroots && a->roots[i] == 0; k++)
			if (slice_eq(slice_str(c->roots[i].path),
				    slice_of(strings + theirs[k].path.at, theirs[k].path.n)))
				a->roots[i] = k + 1;
	return a->roots != NULL;
}

struct warm_start *warm_start_new(struct catalog *c, const int *fds, int nfds)
{
	struct warm_start *a = NULL;
	const char *fault = "out of memory";

	if (nfds >= IMAGE_FDS && nfds <= IMAGE_FDS + IMAGE_SEGMENTS)
		a = calloc(1, sizeof(*a));
	if (a == NULL) {
		for (int i = 0; i < nfds; i++)
			close(fds[i]);
		return NULL;
	}
	a->store = c->segments;
	a->nfds = nfds;
	memcpy(a->fds, fds, (size_t)nfds * sizeof(*fds));
	fault = open_image(a);
	if (fault == NULL && !match_roots(a, c))
		fault = "out of memory";
	if (fault != NULL) {
		log_error("cache: old image not used: %s", fault);
		warm_start_free(&a);
	}
	return a;
}

static struct segment_body *take_body(struct warm_start *a, const struct image_body *from)
{
	uint32_t i = from->segment;

	if (a->fds[IMAGE_FDS + i] >= 0) {
		a->segments[i] = segments_take_over(a->store, a->fds[IMAGE_FDS + i], from->n);
		a->fds[IMAGE_FDS + i] = -1;
		/* A segment must stay while it may be requested. */
		if (a->segments[i] != NULL)
			segment_hold(a->segments[i]);
	}
	return a->segments[i] != NULL ? segments_take_body(a->segments[i], from) : NULL;
}

static void take_variants(struct warm_start *a, struct catalog *c, struct catalog_file *f,
	const struct image_entry *e)
{
	unsigned codings = c->conf->codings & ~catalog_refused(c, f);

	/* The type may have changed. */
	for (enum coding i = 0; catalog_codes(f) && i < CODINGS; i++) {
		struct segment_body *b;

		/* A sidecar is read again for itself. */
		if ((codings & 1U << i) == 0 || (e->flags & IMAGE_SIDECAR << i) != 0)
			continue;
		if ((e->flags & IMAGE_TRIED << i) != 0)
			f->tried |= (uint8_t)(1U << i);
		if (e->variants[i].n == 0)
			continue;
		b = catalog_has_room(c, 0, e->variants[i].n) ? take_body(a, &e->variants[i]) : NULL;
		if (b != NULL)
			catalog_set_variant(c, f, i, b);
	}
}

bool warm_start_file(struct warm_start *a, struct catalog *c, struct catalog_file *f,
	const struct file_id *file_id)
{
	uint32_t root = a->roots[f->node.root];
	const struct image_entry *e;
	struct segment_body *b;

	if (root == 0)
		return false;
	e = image_find(a->index.head, root - 1, slice_of(f->path, f->node.n));
	if (e == NULL || (e->flags & IMAGE_SETTLED) == 0 || e->body.n != file_id->size ||
		!file_id_eq(&e->file_id, file_id) || !catalog_has_room(c, 0, e->body.n) ||
		!segments_have_room(a->store, catalog_index_room(f->node.n)))
		return false;
	if (__atomic_load_n(&a->index.marks->stale[e - image_entries(a->index.head)],
		    __ATOMIC_ACQUIRE) != 0)
		return false;
	b = take_body(a, &e->body);
	if (b == NULL || catalog_fill_warm(c, f, file_id, b) < 0)
		return false;
	take_variants(a, c, f, e);
	a->nwarm++;
	return true;
}

void warm_start_free(struct warm_start **ap)
{
	struct warm_start *a = *ap;

	if (a == NULL)
		return;
	*ap = NULL;
	for (unsigned i = 0; i < IMAGE_SEGMENTS; i++)
		if (a->segments[i] != NULL)
			segment_release(a->store, a->segments[i]);
	image_close(&a->index);
	for (int i = 0; i < a->nfds; i++)
		if (a->fds[i] >= 0)
			close(a->fds[i]);
	free(a->roots);
	free(a);
}
