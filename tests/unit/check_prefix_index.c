/* check_prefix_index: held against a search of all, over words of few letters. */
#include "base/prefix_index.h"

#include <stdlib.h>

#include "unit.h"

enum { WORDS = 60, LENGTH = 5, ROUNDS = 300 };

static char text[WORDS][LENGTH];

static struct slice word(unsigned i)
{
	size_t n = (size_t)rand() % (LENGTH + 1);

	for (size_t k = 0; k < n; k++)
		text[i][k] = (char)('a' + rand() % 2);
	return slice_of(text[i], n);
}

/* All that s begins with, the longest first. */
static void holds(const struct prefix_index *x, struct slice s)
{
	const struct prefix_entry *e = prefix_index_find(x, s), *from = prefix_index_from(x, s);
	unsigned found = 0, expected = 0, below = 0;

	for (unsigned i = 0; i < x->n; i++)
		expected += slice_starts(s, x->v[i].prefix);
	for (size_t longest = s.n; e != NULL; e = prefix_index_outer(x, e), found++) {
		ck_assert(slice_starts(s, e->prefix));
		ck_assert_uint_le(e->prefix.n, longest);
		longest = e->prefix.n;
	}
	ck_assert_uint_eq(found, expected);
	for (unsigned i = 0; i < x->n; i++)
		below += slice_starts(x->v[i].prefix, s);
	for (; from < x->v + x->n && slice_starts(from->prefix, s); from++)
		below--;
	ck_assert_uint_eq(below, 0);
}

TEST(as_a_search_of_all)
{
	struct prefix_entry v[WORDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned n = (unsigned)rand() % WORDS;
		struct prefix_index x;

		for (unsigned i = 0; i < n; i++)
			v[i] = (struct prefix_entry){ .prefix = word(i), .of = i };
		x = prefix_index_make(v, n);
		for (unsigned i = 1; i < n; i++)
			ck_assert(!slice_eq(v[i].prefix, v[i - 1].prefix) || v[i].of > v[i - 1].of);
		for (unsigned i = 0; i < 20; i++)
			holds(&x, word(WORDS - 1));
	}
}

UNIT_MAIN("prefix_index")
