/* image: maps, checks and searches an index from another process. See image.h. */
#include "image/image.h"

#include <sys/mman.h>

#include "image/memfd.h"

/* True: the bytes may be in a header's value without a further check. */
static bool printable(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] < ' ' || p[i] > '~')
			return false;
	return true;
}

static bool within(struct image_string s, const struct image_head *h)
{
	return s.at <= h->nstrings && s.n <= h->nstrings - s.at;
}

static bool body_within(
	const struct image_body *b, const struct image_head *h, const uint64_t *segments)
{
	return printable(b->etag, IMAGE_ETAG) && b->segment < h->nsegments &&
	       b->at % IMAGE_ALIGN == 0 && b->at <= segments[b->segment] &&
	       b->n <= segments[b->segment] - b->at;
}

static const char *check_entry(
	const struct image_head *h, const struct image_entry *e, const uint64_t *segments)
{
	const char *strings = image_strings(h);

	if (!within(e->path, h) || e->path.n == 0 || strings[e->path.at] != '/')
		return "a path out of bounds";
	if (!within(e->type, h) || !printable(strings + e->type.at, e->type.n))
		return "a type out of bounds";
	if (e->root >= h->nroots)
		return "an unknown root";
	if (e->flags >= IMAGE_FLAGS)
		return "unknown flags";
	if (!printable(e->last_modified, IMAGE_DATE))
		return "a malformed field";
	if (!body_within(&e->body, h, segments))
		return "a body out of bounds";
	for (int i = 0; i < IMAGE_VARIANTS; i++)
		if (e->variants[i].n > 0 ? !body_within(&e->variants[i], h, segments)
					 : e->variants[i].segment >= h->nsegments)
			return "a variant out of bounds";
	for (int i = 0; i < IMAGE_VARIANTS; i++)
		if ((e->flags & IMAGE_SIDECAR << i) == 0 && e->variants[i].n > e->body.n)
			return "a variant larger than its body";
	return NULL;
}

static const char *check_slots(const struct image_head *h)
{
	const struct image_slot *slots = image_slots(h);
	uint32_t nfree = 0;

	for (uint32_t i = 0; i < h->nslots; i++) {
		if (slots[i].entry > h->nentries)
			return "a slot out of bounds";
		nfree += slots[i].entry == 0;
	}
	return nfree > 0 ? NULL : "no free slot";
}

static const char *check_marks(const struct image_head *h, const void *p, size_t size)
{
	const struct image_marks *marks = p;

	if (size < sizeof(*marks) || size - sizeof(*marks) < h->nentries)
		return "marks too short";
	if (memcmp(marks->magic, IMAGE_MARKS_MAGIC, 8) != 0 || marks->number != h->number ||
		marks->nentries != h->nentries)
		return "marks of another image";
	return NULL;
}

const char *image_check(const void *index, size_t size, const uint64_t *segments,
	unsigned nsegments, const void *marks, size_t marks_size)
{
	const struct image_head *h = index;
	const char *fault;
	uint64_t need;

	if (size < sizeof(*h) || memcmp(h->magic, IMAGE_MAGIC, 8) != 0)
		return "not an image";
	if (h->version != IMAGE_VERSION)
		return "an unknown version";
	if (h->nsegments != nsegments || nsegments > IMAGE_SEGMENTS)
		return "segments missing";
	if (h->nentries > IMAGE_ENTRIES_MAX || h->nroots > IMAGE_ROOTS_MAX || h->nslots == 0 ||
		(h->nslots & (h->nslots - 1)) != 0)
		return "impossible counts";
	need = sizeof(*h) + (uint64_t)h->nentries * sizeof(struct image_entry) +
	       (uint64_t)h->nslots * sizeof(struct image_slot) +
	       (uint64_t)h->nroots * sizeof(struct image_root) + h->nstrings;
	if (need != size)
		return "an impossible size";
	for (uint32_t i = 0; i < h->nentries; i++) {
		fault = check_entry(h, &image_entries(h)[i], segments);
		if (fault != NULL)
			return fault;
	}
	fault = check_slots(h);
	for (uint32_t i = 0; fault == NULL && i < h->nroots; i++)
		if (!within(image_roots(h)[i].path, h))
			fault = "a root out of bounds";
	return fault != NULL ? fault : check_marks(h, marks, marks_size);
}

static const void *map_sealed(int fd, bool content, size_t *n)
{
	off_t size = memfd_sealed_size(fd, content);
	const void *p = MAP_FAILED;

	if (size > 0)
		p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	*n = (size_t)size;
	return p != MAP_FAILED ? p : NULL;
}

const char *image_open(
	struct image_index *x, const int *fds, const uint64_t *segments, unsigned nsegments)
{
	x->head = map_sealed(fds[0], true, &x->size);
	x->marks = map_sealed(fds[1], false, &x->marks_size);
	if (x->head == NULL || x->marks == NULL)
		return "not sealed, empty, or cannot be mapped";
	return image_check(x->head, x->size, segments, nsegments, x->marks, x->marks_size);
}

void image_close(struct image_index *x)
{
	if (x->head != NULL)
		munmap((void *)(uintptr_t)x->head, x->size);
	if (x->marks != NULL)
		munmap((void *)(uintptr_t)x->marks, x->marks_size);
	*x = (struct image_index){ 0 };
}

const struct image_entry *image_find(const struct image_head *h, uint32_t root, struct slice path)
{
	uint64_t hash = image_hash(h->seed, root, path);
	const struct image_slot *slots = image_slots(h);
	uint32_t mask = h->nslots - 1;

	for (uint32_t i = (uint32_t)hash & mask; slots[i].entry != 0; i = (i + 1) & mask) {
		const struct image_entry *e = &image_entries(h)[slots[i].entry - 1];

		if (slots[i].tag == (uint32_t)(hash >> 32) && e->root == root &&
			slice_eq(slice_of(image_strings(h) + e->path.at, e->path.n), path))
			return e;
	}
	return NULL;
}
