/*
 * server_counts: a table of rows, found by title when a generation begins and by number from then
 * on.
 */
#include "board/board.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/name_map.h"
#include "request/req_record.h"

#define OTHER "(other)" /* not a server's title */

static void give(struct server_titles *titles, struct slice title)
{
	snprintf(titles->v[titles->n], SERVER_COUNTS_TITLE, "%.*s", SLICE_ARG(title));
	__atomic_store_n(&titles->n, titles->n + 1, __ATOMIC_RELEASE);
}

/* The rows by title; without memory some are missing. */
static struct name_map rows_of(const struct server_titles *titles)
{
	struct name_map map = { 0 };

	for (unsigned i = 1; i < titles->n; i++) {
		unsigned *row = name_map_put(&map, slice_str(titles->v[i]));

		if (row != NULL)
			*row = i;
	}
	return map;
}

void server_counts_give(struct server_titles *titles, const struct sites *sites)
{
	struct name_map map = rows_of(titles);

	if (titles->n == 0)
		give(titles, SLICE(OTHER));
	for (unsigned i = 0; i < sites->n && titles->n < SERVER_COUNTS_ROWS; i++)
		if (sites->v[i].name.n < SERVER_COUNTS_TITLE &&
			name_map_get(&map, sites->v[i].name) == 0)
			give(titles, sites->v[i].name);
	name_map_fini(&map);
}

uint16_t *server_counts_rows(const struct server_titles *titles, const struct sites *sites)
{
	uint16_t *rows = calloc(sites->n, sizeof(*rows));
	struct name_map map = rows_of(titles);

	for (unsigned i = 0; rows != NULL && i < sites->n; i++)
		rows[i] = (uint16_t)name_map_get(&map, sites->v[i].name);
	name_map_fini(&map);
	return rows;
}

void server_counts_observe(struct server_count *row, const struct req_record *record, int status)
{
	board_cell_add(&row->responses[status >= 200 ? status / 100 - 1 : 0], 1);
	board_cell_add(&row->bytes_in, (int64_t)record->bytes_in);
	board_cell_add(&row->bytes_out, (int64_t)record->bytes_out);
}
