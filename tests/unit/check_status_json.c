/* check_status_json: the JSON of the scoreboard, with its sums, and that of one gone mad. */
#include "server/status_json.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "conf/conf.h"
#include "server/dispatch.h"
#include "unit.h"

static struct board *board;

static void setup(void)
{
	board = board_new();
	ck_assert_ptr_nonnull(board);
}

static void teardown(void)
{
	board_free(&board);
}

static char *json(void)
{
	struct arena a;
	struct slice s;
	char *copy;

	arena_init(&a, NULL, 0, 16 << 20);
	s = status_json(board, &a);
	ck_assert_ptr_nonnull(s.p);
	copy = strndup(s.p, s.n);
	ck_assert_uint_eq(strlen(copy), s.n);
	arena_reset(&a);
	return copy;
}

static void assert_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no %s in %s", part, text);
}

START_TEST(sums)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	char *text;

	a->counters.requests = 5;
	a->counters.connections = 3;
	a->counters.bytes_out = -7;
	b->counters.requests = 11;
	b->counters.connections = 2;
	text = json();
	assert_has(text, "\"totals\":{\"connections\":5");
	assert_has(strstr(text, "totals"), "\"requests\":16,");
	free(text);

	board_release(board, &a);
	text = json();
	assert_has(text, "\"totals\":{\"connections\":2");
	assert_has(strstr(text, "totals"), "\"requests\":16,");
	assert_has(strstr(text, "totals"), "\"bytes_out\":0,");
	free(text);
}
END_TEST

START_TEST(json_shape)
{
	struct board_slot *a;
	char *text;

	clock_set(1, (struct timespec){ .tv_sec = 1042 });
	board->head.started = 1000;
	board->head.generation = 3;
	board->head.image = 9;
	board->head.balance = BALANCE_CPU;
	board->head.building = 1;
	board->head.keeper_pid = 77;
	board->head.dispatch = DISPATCH_ACCEPTOR;
	board->head.acceptor_pid = 78;
	board->head.cache.v[CACHE_FACT_entries] = 12;
	board->head.cache.v[CACHE_FACT_adopted] = UINT64_MAX;
	text = json();
	assert_has(text, "{\"version\":\"" PACKAGE_VERSION "\",\"generation\":3,\"uptime\":42,"
			 "\"image\":9,\"balance\":\"cpu\",\"building\":1,\"keeper\":77,"
			 "\"dispatch\":\"acceptor\",\"acceptor\":78,\"cache\":{\"entries\":12,");
	assert_has(text, "\"adopted\":18446744073709551615},\"workers\":[],\"totals\":{");
	free(text);

	a = board_take(board, 4, 3);
	a->pid = 123;
	a->image = 8;
	a->state = BOARD_UP;
	text = json();
	assert_has(text, "\"workers\":[{\"slot\":4,\"pid\":123,\"generation\":3,\"state\":\"up\","
			 "\"image\":8,\"clients\":0,\"connections\":0,");
	for (int i = 0; i < COUNTER_COUNT; i++) {
		char name[64];
		const char *first;

		snprintf(name, sizeof(name), "\"%s\":", counter_info[i].name);
		first = strstr(text, name);
		ck_assert_msg(first != NULL && strstr(first + 1, name) != NULL, "%s twice", name);
	}
	ck_assert_str_eq(text + strlen(text) - 3, "}}\n");
	free(text);
}
END_TEST

/* Per worker and summed, with those of processes that are gone. */
START_TEST(histogram)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	const struct histogram_info *h = &histogram_info[HISTOGRAM_handshake_us];
	char *text;

	counters_to(&b->counters);
	OBSERVE(handshake_us, h->bounds[0]);
	board_release(board, &b);
	counters_to(&a->counters);
	OBSERVE(handshake_us, h->bounds[0] + 1);
	OBSERVE(handshake_us, h->bounds[h->nbounds - 1] + 1);
	text = json();
	assert_has(text, "\"handshake_us\":{\"count\":2,\"sum\":2500502,\"buckets\":{\"500\":0,"
			 "\"1000\":1,\"2500\":0,");
	assert_has(text, "\"2500000\":0,\"more\":1}}}],\"totals\":");
	assert_has(strstr(text, "totals"), "\"handshake_us\":{\"count\":3,\"sum\":2501002,"
					   "\"buckets\":{\"500\":1,\"1000\":1,");
	free(text);
}
END_TEST

START_TEST(json_of_a_mad_board)
{
	char *text;

	for (unsigned i = 0; i < BOARD_SLOTS; i++) {
		struct board_slot *s = board_take(board, i, 1);

		memset(s, 0xff, sizeof(*s));
		for (int c = 0; c < COUNTERS_CELLS; c++)
			((int64_t *)&s->counters)[c] = INT64_MIN;
	}
	text = json();
	assert_has(text, "\"state\":\"unknown\"");
	ck_assert_str_eq(text + strlen(text) - 3, "}}\n");
	free(text);
}
END_TEST

START_TEST(json_without_memory)
{
	struct arena a;

	arena_init(&a, NULL, 0, 512);
	ck_assert_ptr_null(status_json(board, &a).p);
	arena_reset(&a);
}
END_TEST

static TCase *tests(void)
{
	TCase *t = tcase_create("status_json");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, sums);
	tcase_add_test(t, json_shape);
	tcase_add_test(t, histogram);
	tcase_add_test(t, json_of_a_mad_board);
	tcase_add_test(t, json_without_memory);
	return t;
}

UNIT_MAIN("status_json")
