/* check_name_map: what was put is found, however many there are, and nothing else. */
#include "base/name_map.h"

#include <stdio.h>

#include "unit.h"

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

UNIT_MAIN("name_map")
