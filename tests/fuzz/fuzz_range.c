/*
 * fuzz_range: a size in front of the first line feed, then a Range field. Ranges that come out lie
 * within the content, touch each other nowhere, and are never the whole of it but for a single one.
 */
#include "driver.h"
#include "http/range.h"

static void check(const struct ranges *r, uint64_t size)
{
	uint64_t sum = 0;

	if (r->n == 0 || r->n > RANGES_MAX)
		abort();
	for (unsigned i = 0; i < r->n; i++) {
		const struct range *a = &r->v[i];

		if (a->n == 0 || a->at >= size || a->n > size - a->at)
			abort();
		sum += a->n;
		for (unsigned j = 0; j < i; j++)
			if (a->at <= r->v[j].at + r->v[j].n && r->v[j].at <= a->at + a->n)
				abort();
	}
	if (sum > size || (r->n > 1 && sum == size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice value = slice_of(data, size);
	struct ranges r;
	uint64_t content = 0;

	for (; value.n > 0 && *value.p != '\n'; slice_skip(&value, 1))
		content = content * 10 + (uint64_t)(*value.p & 15);
	if (value.n > 0)
		slice_skip(&value, 1);
	/* No file system has larger ones: off_t. */
	content &= INT64_MAX;
	if (range_parse(value, content, &r) == RANGE_PARTIAL)
		check(&r, content);
	return 0;
}
