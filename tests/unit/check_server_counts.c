/* check_server_counts: servers keep their rows by title, as many as there are, and each request is
 * in one row alone. */
#include "board/board.h"

#include "request/req_record.h"
#include "tools/route_build.h"
#include "unit.h"

static struct server_titles titles;
static struct server_counts counts, sum;
static struct site v[2 * SERVER_COUNTS_ROWS];

static struct sites sites_of(const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		v[i].name = slice_str(names[i]);
	return (struct sites){ .v = v, .n = n };
}

static void give(struct server_titles *t, const struct sites *sites)
{
	titles_give(t, &sites->v->name, sizeof(*sites->v), sites->n);
}

TEST(rows_stay_over_reloads)
{
	static const char *const first[] = { "a.org", "_" }, *const second[] = { "b.org", "_",
		"a.org" };
	struct sites sites = sites_of(first, 2);
	uint16_t *rows;

	memset(&titles, 0, sizeof(titles));
	give(&titles, &sites);
	sites = sites_of(second, 3);
	give(&titles, &sites);
	give(&titles, &sites);
	rows = titles_rows(&titles, &sites.v->name, sizeof(*sites.v), sites.n);
	ck_assert_uint_eq(titles.n, 4);
	ck_assert_str_eq(titles.v[0], "(other)");
	ck_assert_uint_eq(rows[0], 3);
	ck_assert_uint_eq(rows[1], 2);
	ck_assert_uint_eq(rows[2], 1);
	free(rows);
}

TEST(no_more_than_there_are)
{
	static char names[2 * SERVER_COUNTS_ROWS][16], longest[SERVER_COUNTS_TITLE + 1];
	struct sites sites = { .v = v, .n = 2 * SERVER_COUNTS_ROWS };
	uint16_t *rows;

	memset(&titles, 0, sizeof(titles));
	memset(longest, 'x', SERVER_COUNTS_TITLE);
	for (unsigned i = 0; i < sites.n; i++) {
		snprintf(names[i], sizeof(names[i]), "s%u", i);
		v[i].name = slice_str(i == 0 ? longest : names[i]);
	}
	give(&titles, &sites);
	rows = titles_rows(&titles, &sites.v->name, sizeof(*sites.v), sites.n);
	ck_assert_uint_eq(titles.n, SERVER_COUNTS_ROWS);
	ck_assert_uint_eq(rows[0], 0);
	for (unsigned i = 1; i < sites.n; i++)
		ck_assert_uint_eq(rows[i], i < SERVER_COUNTS_ROWS ? i : 0);
	free(rows);
}

TEST(by_class)
{
	const struct req_record record = { .bytes_in = 3, .bytes_out = 5 };
	static const int statuses[] = { 0, 204, 308, 404, 599, 200 };

	memset(&counts, 0, sizeof(counts));
	memset(&sum, 0, sizeof(sum));
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		server_counts_observe(counts.v[7], &record, statuses[i]);
	for (unsigned c = 0; c < ROUTE_TIMES_CLASSES; c++)
		ck_assert_uint_eq(counts.v[7][c], c == 1 ? 2 : 1);
	board_cells_add(&sum, &counts, sizeof(sum));
	board_cells_add(&sum, &counts, sizeof(sum));
	ck_assert_uint_eq(sum.v[7][SERVER_BYTES_IN], 36);
	ck_assert_uint_eq(sum.v[7][SERVER_BYTES_OUT], 60);
	ck_assert_uint_eq(sum.v[7][1], 4);
	ck_assert_uint_eq(sum.v[6][SERVER_BYTES_OUT] + sum.v[8][SERVER_BYTES_OUT], 0);
	ck_assert_str_eq(route_times_class(4), "5xx");
}

static struct route_times times, all;

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
	memset(&all, 0, sizeof(all));
	all.v[1][1].duration.sum = 5;
	board_cells_add(&all, &times, sizeof(all));
	ck_assert_int_eq(all.v[1][1].duration.sum, 5);
	times.v[1][1].duration.sum = INT64_MAX;
	board_cells_add(&all, &times, sizeof(all));
	board_cells_add(&all, &times, sizeof(all));
	ck_assert_int_eq(all.v[1][1].duration.sum, 3);
	ck_assert_int_eq(total(&all), 0);
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
