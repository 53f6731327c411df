/* check_human: numbers as people read them, where they pass from one unit to the next. */
#include "base/human.h"

#include "unit.h"

START_TEST(numbers)
{
	char b[HUMAN_SIZE];

	ck_assert_str_eq(human_count(b, 0, " "), "0");
	ck_assert_str_eq(human_count(b, 999, " "), "999");
	ck_assert_str_eq(human_count(b, 1000, " "), "1 000");
	ck_assert_str_eq(human_count(b, 1234567, ","), "1,234,567");
	ck_assert_str_eq(human_count(b, UINT64_MAX, "\u202f"),
		"18\u202f446\u202f744\u202f073\u202f709\u202f551\u202f615");
	ck_assert_str_eq(human_bytes(b, 1023), "1023 B");
	ck_assert_str_eq(human_bytes(b, 1536), "1.5 KiB");
	ck_assert_str_eq(human_bytes(b, 1024 * 1024 - 1), "1.0 MiB");
	ck_assert_str_eq(human_bytes(b, UINT64_MAX), "16 EiB");
	ck_assert_str_eq(human_seconds(b, 59), "59 s");
	ck_assert_str_eq(human_seconds(b, 3599), "59 min 59 s");
	ck_assert_str_eq(human_seconds(b, 3600), "1 h 0 min");
	ck_assert_str_eq(human_seconds(b, 90061), "1 d 1 h");
	ck_assert_str_eq(human_us(b, 0), "0.00 ms");
	ck_assert_str_eq(human_us(b, 9994), "9.99 ms");
	ck_assert_str_eq(human_us(b, 9996), "10.0 ms");
	ck_assert_str_eq(human_us(b, 99960), "100 ms");
	ck_assert_str_eq(human_us(b, 999499), "999 ms");
	ck_assert_str_eq(human_us(b, 1234567), "1.23 s");
}
END_TEST

static TCase *tests(void)
{
	TCase *t = tcase_create("human");

	tcase_add_test(t, numbers);
	return t;
}

UNIT_MAIN_PURE("human")
