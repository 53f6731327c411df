/* check_human: bytes as people read them, where they pass from one unit to the next. */
#include "base/human.h"

#include "unit.h"

TEST(numbers)
{
	char b[HUMAN_SIZE];

	ck_assert_str_eq(human_bytes(b, 1023), "1023 B");
	ck_assert_str_eq(human_bytes(b, 1536), "1.5 KiB");
	ck_assert_str_eq(human_bytes(b, 1024 * 1024 - 1), "1.0 MiB");
	ck_assert_str_eq(human_bytes(b, UINT64_MAX), "16 EiB");
}

UNIT_MAIN_PURE("human")
