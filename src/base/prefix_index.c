/*
 * prefix_index: all entries that a string begins with are ancestors of the last one that is not
 * greater than it. Built with a configuration, searched by requests; allocates nothing.
 */
#include "base/prefix_index.h"

#include <stdlib.h>

static int prefix_index_compare(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static int entry_order(const void *a, const void *b)
{
	const struct prefix_entry *x = a, *y = b;
	int order = prefix_index_compare(x->prefix, y->prefix);

	return order != 0 ? order : (x->of > y->of) - (x->of < y->of);
}

struct prefix_index prefix_index_make(struct prefix_entry *v, unsigned n)
{
	if (n > 0)
		qsort(v, n, sizeof(*v), entry_order);
	for (unsigned i = 0; i < n; i++) {
		unsigned outer = i;

		while (outer > 0 && !slice_starts(v[i].prefix, v[outer - 1].prefix))
			outer = v[outer - 1].outer;
		v[i].outer = outer;
	}
	return (struct prefix_index){ v, n };
}

/* The number of entries less than s, or (with_equal) not greater. */
static unsigned rank(const struct prefix_index *x, struct slice s, bool with_equal)
{
	unsigned low = 0, high = x->n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (prefix_index_compare(x->v[mid].prefix, s) < (int)with_equal)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct prefix_entry *prefix_index_find(const struct prefix_index *x, struct slice s)
{
	unsigned i = rank(x, s, true);

	while (i > 0 && !slice_starts(s, x->v[i - 1].prefix))
		i = x->v[i - 1].outer;
	return i > 0 ? &x->v[i - 1] : NULL;
}

const struct prefix_entry *prefix_index_from(const struct prefix_index *x, struct slice s)
{
	return x->v + rank(x, s, false);
}
