/* check_slice: comparisons, with empty slices and slices of nothing. */
#include "base/slice.h"

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

UNIT_MAIN_PURE("slice")
