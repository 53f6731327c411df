/*
 * check_flags: the bits and the names of a set of flags.
 */
#include "base/flags.h"

#include <string.h>

#include "unit.h"

enum door_flag { FLAGS_BIT(DOOR_OPEN), FLAGS_BIT(DOOR_RED), FLAGS_BIT(DOOR_OURS) };

static const char *const names[] = { "open", "red", "ours", NULL };

TEST(bits)
{
	ck_assert_int_eq(DOOR_OPEN, 1);
	ck_assert_int_eq(DOOR_RED, 2);
	ck_assert_int_eq(DOOR_OURS, 4);
}

TEST(text)
{
	char buf[FLAGS_TEXT];

	ck_assert_str_eq(flags_text(names, 0, buf), "");
	ck_assert_str_eq(flags_text(names, DOOR_RED, buf), "red");
	ck_assert_str_eq(flags_text(names, DOOR_OPEN | DOOR_OURS, buf), "open, ours");
	ck_assert_str_eq(flags_text(names, -1u, buf), "open, red, ours");
}

TEST(too_long)
{
	char name[200], buf[FLAGS_TEXT];
	const char *const two[] = { name, name, name, NULL };

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ck_assert_uint_eq(strlen(flags_text(two, 7, buf)), FLAGS_TEXT - 1);
}

UNIT_MAIN_PURE("flags")
