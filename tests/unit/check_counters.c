/* check_counters: every counter is reachable by name and by index; err: every row is answerable. */
#include "base/counters.h"

#include <string.h>

#include "base/err.h"
#include "unit.h"

START_TEST(by_name_and_index)
{
	struct counters block = { 0 };

	counters_to(&block);
	COUNT(connections, 3);
	COUNT(connections, -1);
	COUNT(protocol_errors, 7);
	ck_assert_int_eq(counters_get(&block, COUNTER_connections), 2);
	ck_assert_int_eq(counters_get(&block, COUNTER_protocol_errors), 7);
	ck_assert_int_eq(counters_get(&block, COUNTER_requests), 0);
	ck_assert_str_eq(counter_info[COUNTER_connections].name, "connections");
	ck_assert_int_eq(counter_info[COUNTER_connections].kind, COUNTER_GAUGE);
	ck_assert_int_eq(counter_info[COUNTER_bytes_out].kind, COUNTER_TOTAL);
}
END_TEST

START_TEST(table)
{
	for (int i = 0; i < COUNTER_COUNT; i++) {
		ck_assert_uint_gt(strlen(counter_info[i].help), 0);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(counter_info[i].name, counter_info[j].name);
	}
}
END_TEST

START_TEST(private_block)
{
	COUNT(requests, 1);
	ck_assert_int_eq(counters_get(counters, COUNTER_requests), 1);
}
END_TEST

START_TEST(errs)
{
	const struct err *const all[] = {
#define ERR(name, status, code, scope, level, text) ERR_##name,
#include "base/err.def"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct err *e = all[i];

		/* A request error is answered; a connection error if HTTP/1 has a status for it. */
		ck_assert_msg((e->status >= 400 && e->status < 600) ||
				      (e->status == 0 && e->scope != ERR_REQUEST), "%s", e->name);
		/* RFC 9113, 7 */
		ck_assert_msg(e->h2_code <= 0xd, "%s", e->name);
		ck_assert_uint_gt(strlen(e->text), 0);
	}
	ck_assert_str_eq(ERR_FLOOD->name, "FLOOD");
	ck_assert_int_eq(ERR_FLOOD->h2_code, 0xb);
	ck_assert_int_eq(ERR_NO_MEMORY->level, LEVEL_ERROR);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("counters");

	tcase_add_test(tc, by_name_and_index);
	tcase_add_test(tc, table);
	tcase_add_test(tc, private_block);
	tcase_add_test(tc, errs);
	return tc;
}

UNIT_MAIN("counters")
