/* check_path_index: what is entered is found by root and path, and nothing else is. */
#include <stdio.h>
#include <stdlib.h>

#include "keeper/catalog.h"
#include "unit.h"

enum { MANY = 5000 };

static struct path_index all;
static struct name entered[MANY];
static char paths[MANY][16];

static void setup(void)
{
	ck_assert_int_eq(path_index_init(&all), 0);
	for (int i = 0; i < MANY; i++) {
		int n = snprintf(paths[i], sizeof(paths[i]), "/d/f%d", i / 2);

		entered[i] = (struct name){ .root = i % 2, .n = (uint32_t)n, .path = paths[i] };
	}
}

static void teardown(void)
{
	path_index_fini(&all);
	ck_assert_ptr_null(all.table);
}

static struct name *find(int i)
{
	return path_index_find(&all, entered[i].root, slice_str(paths[i]));
}

TEST(of_every_root)
{
	for (int i = 0; i < MANY; i++) {
		ck_assert_ptr_null(find(i));
		path_index_enter(&all, &entered[i]);
		ck_assert_ptr_eq(find(i), &entered[i]);
	}
	ck_assert_uint_eq(all.n, MANY);
	ck_assert_ptr_null(path_index_find(&all, 2, SLICE("/d/f1")));
	ck_assert_ptr_null(path_index_find(&all, 0, SLICE("/d/f")));
	ck_assert_ptr_null(path_index_find(&all, 0, SLICE("")));
	for (int i = 0; i < MANY; i++)
		ck_assert_ptr_eq(find(i), &entered[i]);
	for (int i = 0; i < MANY; i += 3)
		path_index_leave(&all, &entered[i]);
	for (int i = 0; i < MANY; i++)
		ck_assert_ptr_eq(find(i), i % 3 == 0 ? NULL : &entered[i]);
	ck_assert_uint_eq(all.n, MANY - (MANY + 2) / 3);
}

/* Paths are bytes: what is no UTF-8, or has a NUL in it, is a name like any other. */
TEST(any_bytes)
{
	entered[0] = (struct name){ .n = 3, .path = "/\xff\xfe" };
	entered[1] = (struct name){ .n = 3, .path = "/\0a" };
	path_index_enter(&all, &entered[0]);
	path_index_enter(&all, &entered[1]);
	ck_assert_ptr_eq(path_index_find(&all, 0, SLICE("/\xff\xfe")), &entered[0]);
	ck_assert_ptr_eq(path_index_find(&all, 0, SLICE("/\0a")), &entered[1]);
	ck_assert_ptr_null(path_index_find(&all, 0, SLICE("/\0b")));
}

UNIT_FIXTURE(setup, teardown)

UNIT_MAIN("names")
