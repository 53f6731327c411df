/* check_server_counts: servers keep their rows by title, as many as there are, and each request is
 * in one row alone. */
#include "board/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request/req_record.h"
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

TEST(rows_stay_over_reloads)
{
	static const char *const first[] = { "a.org", "_" }, *const second[] = { "b.org", "_",
		"a.org" };
	struct sites sites = sites_of(first, 2);
	uint16_t *rows;

	memset(&titles, 0, sizeof(titles));
	server_counts_give(&titles, &sites);
	sites = sites_of(second, 3);
	server_counts_give(&titles, &sites);
	server_counts_give(&titles, &sites);
	rows = server_counts_rows(&titles, &sites);
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
	server_counts_give(&titles, &sites);
	rows = server_counts_rows(&titles, &sites);
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
		server_counts_observe(&counts.v[7], &record, statuses[i]);
	for (unsigned c = 0; c < SERVER_COUNTS_CLASSES; c++)
		ck_assert_uint_eq(counts.v[7].responses[c], c == 1 ? 2 : 1);
	server_counts_add(&sum, &counts);
	server_counts_add(&sum, &counts);
	ck_assert_uint_eq(sum.v[7].bytes_in, 36);
	ck_assert_uint_eq(sum.v[7].bytes_out, 60);
	ck_assert_uint_eq(sum.v[7].responses[1], 4);
	ck_assert_uint_eq(sum.v[6].bytes_out + sum.v[8].bytes_out, 0);
	ck_assert_str_eq(server_counts_class(4), "5xx");
}

UNIT_MAIN("server_counts")
