/*
 * fuzz_image: the bytes of an index as a hostile keeper might send them. Whatever image_check()
 * lets through is then searched and read to its last byte, as a worker would.
 */
#include "driver.h"
#include "image/image.h"

enum { SEGMENT = 256, MARKS = 64 };

static unsigned sum(const void *p, size_t n)
{
	const uint8_t *bytes = p;
	unsigned total = 0;

	for (size_t i = 0; i < n; i++)
		total += bytes[i];
	return total;
}

static unsigned read_all(const struct image_head *h, const uint8_t *const *segments)
{
	const char *strings = image_strings(h);
	unsigned total = 0;

	for (uint32_t i = 0; i < h->nentries; i++) {
		const struct image_entry *e = &image_entries(h)[i];
		struct slice path = slice_of(strings + e->path.at, e->path.n);
		const struct image_entry *found = image_find(h, e->root, path);

		total += sum(path.p, path.n) + sum(strings + e->type.at, e->type.n);
		total += sum(segments[e->body.segment] + e->body.at, e->body.n);
		for (int k = 0; k < IMAGE_VARIANTS; k++)
			total += sum(segments[e->variants[k].segment] + e->variants[k].at,
				e->variants[k].n);
		total += sum(strings + e->type.at, e->type.n);
		total += found != NULL ? found->body.n : 0;
	}
	for (uint32_t i = 0; i < h->nroots; i++)
		total += sum(strings + image_roots(h)[i].path.at, image_roots(h)[i].path.n);
	return total + (image_find(h, 0, SLICE("/")) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t sizes[2] = { SEGMENT, 0 };
	struct image_head *h = malloc(size > 0 ? size : 1);
	uint8_t *segments[2] = { calloc(1, SEGMENT), malloc(1) };
	struct image_marks *marks = calloc(1, sizeof(*marks) + MARKS);
	volatile unsigned total = 0;

	if (size > 0)
		memcpy(h, data, size);
	memcpy(marks->magic, IMAGE_MARKS_MAGIC, 8);
	if (size >= sizeof(*h)) {
		marks->number = h->number;
		marks->nentries = h->nentries;
	}
	for (unsigned n = 0; n <= 2; n++)
		if (image_check(h, size, sizes, n, marks, sizeof(*marks) + MARKS) == NULL)
			total += read_all(h, (const uint8_t *const *)segments);
	(void)total;
	free(marks);
	free(segments[0]);
	free(segments[1]);
	free(h);
	return 0;
}
