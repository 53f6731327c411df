/* check_route_times: each request is in the histograms of its route and class, and in no others. */
#include "board/board.h"

#include <string.h>

#include "tools/route_build.h"
#include "unit.h"

static struct route_times times, sum;

static int64_t total(const struct route_times *t)
{
	int64_t n = 0;

	for (unsigned r = 0; r < ROUTE_TIMES_ROUTES; r++)
		for (unsigned c = 0; c < ROUTE_TIMES_CLASSES; c++)
			for (int i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
				n += t->v[r][c].duration.buckets[i];
	return n;
}

TEST(by_route_and_class)
{
	const struct req_record files = {
		.begun_us = 1000, .first_byte_us = 1500, .ended_us = 3500, .route = REQ_ROUTE_FILES
	};
	const struct req_record row = {
		.begun_us = 7, .first_byte_us = 7, .ended_us = 60000008, .route = REQ_ROUTE_ROWS + 2
	};
	const struct req_record beyond = { .route = 1000000 };
	const struct route_times_cell *cell = &times.v[REQ_ROUTE_FILES][1];

	memset(&times, 0, sizeof(times));
	route_times_observe(&times, &files, 206);
	ck_assert_int_eq(cell->duration.sum, 2500);
	ck_assert_int_eq(cell->duration.buckets[1], 1);
	ck_assert_int_eq(cell->first_byte.sum, 500);
	ck_assert_int_eq(cell->first_byte.buckets[0], 1);
	route_times_observe(&times, &row, 500);
	cell = &times.v[REQ_ROUTE_ROWS + 2][4];
	ck_assert_int_eq(cell->duration.buckets[ROUTE_TIMES_BOUNDS], 1);
	ck_assert_int_eq(cell->first_byte.buckets[0], 1);
	route_times_observe(&times, &beyond, 404);
	ck_assert_int_eq(times.v[ROUTE_TIMES_OTHER][3].duration.buckets[0], 1);
	ck_assert_int_eq(total(&times), 3);
}

TEST(without_response)
{
	const struct req_record record = { .begun_us = 1000, .ended_us = 3500 };

	memset(&times, 0, sizeof(times));
	route_times_observe(&times, &record, 0);
	ck_assert_int_eq(times.v[REQ_ROUTE_NONE][0].duration.buckets[1], 1);
	for (int i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
		ck_assert_int_eq(times.v[REQ_ROUTE_NONE][0].first_byte.buckets[i], 0);
}

TEST(sums_of_nonsense)
{
	memset(&times, 0xff, sizeof(times));
	memset(&sum, 0, sizeof(sum));
	sum.v[1][1].duration.sum = 5;
	route_times_add(&sum, &times);
	ck_assert_int_eq(sum.v[1][1].duration.sum, 5);
	times.v[1][1].duration.sum = INT64_MAX;
	route_times_add(&sum, &times);
	route_times_add(&sum, &times);
	ck_assert_int_eq(sum.v[1][1].duration.sum, 3);
	ck_assert_int_eq(total(&sum), 0);
}

TEST(names)
{
	static const struct route_row rows[] = { { "r", 1, "GET", "/a/{x}", "h", "BODY_NONE" } };
	struct route_build b;

	ck_assert_int_eq(route_build(&b, rows, 1, stderr), 0);
	for (unsigned i = 0; i < ROUTE_TIMES_ROUTES; i++)
		ck_assert_int_eq(route_times_has(&b.table, i),
			i <= REQ_ROUTE_ROWS || i == ROUTE_TIMES_OTHER);
	ck_assert(slice_eq(route_times_route(&b.table, REQ_ROUTE_NONE), SLICE("none")));
	ck_assert(slice_eq(route_times_route(&b.table, REQ_ROUTE_ROWS), SLICE("/a/{x}")));
	ck_assert(slice_eq(route_times_route(&b.table, ROUTE_TIMES_OTHER), SLICE("other")));
	ck_assert_str_eq(route_times_class(0), "none");
	ck_assert_str_eq(route_times_class(4), "5xx");
	route_build_free(&b);
}

UNIT_MAIN("route_times")
