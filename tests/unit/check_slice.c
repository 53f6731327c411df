/* check_slice: comparisons, with empty slices and slices of nothing. */
#include "base/slice.h"

#include "base/name_map.h"
#include "base/prefix_index.h"
#include "unit.h"

static const struct {
	const char *a, *b;
	bool eq, ieq, starts, ends;
} cases[] = {
	{ "", "", true, true, true, true },
	{ NULL, "", true, true, true, true },
	{ NULL, NULL, true, true, true, true },
	{ "a", "", false, false, true, true },
	{ "", "a", false, false, false, false },
	{ NULL, "a", false, false, false, false },
	{ "abc", "abc", true, true, true, true },
	{ "abc", "ABC", false, true, false, false },
	{ "abc", "ab", false, false, true, false },
	{ "abc", "bc", false, false, false, true },
	{ "abc", "b", false, false, false, false },
	{ "ab", "abc", false, false, false, false },
	{ "@", "`", false, false, false, false },
};

TEST_ROWS(compare, cases)
{
	struct slice a = slice_str(cases[_i].a), b = slice_str(cases[_i].b);

	ck_assert_int_eq(slice_eq(a, b), cases[_i].eq);
	ck_assert_int_eq(slice_ieq(a, b), cases[_i].ieq);
	ck_assert_int_eq(slice_starts(a, b), cases[_i].starts);
	ck_assert_int_eq(slice_ends(a, b), cases[_i].ends);
}

TEST(make)
{
	static const struct slice lit = SLICE_LIT("ab\0c");

	ck_assert_uint_eq(lit.n, 4);
	ck_assert(slice_eq(lit, slice_of("ab\0cd", 4)));
	ck_assert(!slice_eq(lit, SLICE("ab\0d")));
	ck_assert_uint_eq(slice_str(NULL).n, 0);
}

enum { MANY = 10000 };

static char names[MANY][16];

TEST(an_empty_one)
{
	struct name_map m = { 0 };

	ck_assert_uint_eq(name_map_get(&m, SLICE("a")), 0);
	name_map_fini(&m);
}

TEST(many_names)
{
	struct name_map m = { 0 };
	unsigned *value;

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "/%u", i);
		value = name_map_put(&m, slice_str(names[i]));
		ck_assert_ptr_nonnull(value);
		ck_assert_uint_eq(*value, 0);
		*value = i + 1;
		ck_assert_uint_eq(name_map_get(&m, slice_str(names[i / 2])), i / 2 + 1);
	}
	ck_assert_uint_eq(m.n, MANY);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_uint_eq(*name_map_put(&m, slice_str(names[i])), i + 1);
	ck_assert_uint_eq(m.n, MANY);
	ck_assert_uint_eq(name_map_get(&m, SLICE("/10000")), 0);
	ck_assert_uint_eq(name_map_get(&m, SLICE("/1")), 2);
	ck_assert_uint_eq(name_map_get(&m, slice_of("/12", 2)), 2);
	ck_assert_uint_eq(name_map_get(&m, SLICE("")), 0);
	name_map_fini(&m);
	ck_assert_uint_eq(name_map_get(&m, SLICE("/1")), 0);
}

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
