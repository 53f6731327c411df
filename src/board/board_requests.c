/*
 * board_requests: the counts of requests on the scoreboard: durations by route and class, statuses
 * and bytes by server, and the last seconds.
 */
#include "board/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/name_map.h"
#include "rules/route.h"

#define OTHER "(other)" /* not a server's title */

/* --- route_times ------------------------------------------------------------------------------ */

/*
 * Few, because each is a time series. Files of the image are below the first; 100 ms, 250 ms and 1
 * s are usual targets; a minute is a download or an upload.
 */
const int64_t route_times_bounds[ROUTE_TIMES_BOUNDS] = { 1000, 5000, 25000, 100000, 250000, 500000,
	1000000, 2500000, 10000000, 60000000 };

static __attribute__((noinline)) void observe_time(struct route_time *t, int64_t us)
{
	board_cell_add(&t->sum, us);
	board_cell_add(
		&t->buckets[histogram_bucket(route_times_bounds, ROUTE_TIMES_BOUNDS, us)], 1);
}

static inline void observe(struct route_time *t, uint64_t from_us, uint64_t to_us)
{
	/* Most requests end in the same turn of the loop. */
	if (from_us == to_us)
		board_cell_add(&t->buckets[0], 1);
	else
		observe_time(t, (int64_t)(to_us - from_us));
}

void route_times_observe(struct route_times *t, const struct req_record *record, int status)
{
	unsigned route = record->route < ROUTE_TIMES_OTHER ? record->route : ROUTE_TIMES_OTHER;
	unsigned class = status >= 200 ? (unsigned)status / 100 - 1 : 0;
	struct route_times_cell *cell = &t->v[route][class];

	observe(&cell->duration, record->begun_us, record->ended_us);
	if (class > 0)
		observe(&cell->first_byte, record->begun_us, record->first_byte_us);
}

const char *route_times_class(unsigned class)
{
	return server_cells[SERVERS_OWN][class].word;
}

bool route_times_has(const struct route_table *routes, unsigned route)
{
	return route == ROUTE_TIMES_OTHER || route < REQ_ROUTE_ROWS + routes->nroutes;
}

struct slice route_times_method(const struct route_table *routes, unsigned route)
{
	if (route < REQ_ROUTE_ROWS || route == ROUTE_TIMES_OTHER)
		return (struct slice){ 0 };
	return slice_str(method_name(routes->routes[route - REQ_ROUTE_ROWS].method));
}

struct slice route_times_route(const struct route_table *routes, unsigned route)
{
	if (route == ROUTE_TIMES_OTHER)
		return SLICE("other");
	return req_record_route_name(routes, route);
}

/* --- server_counts ---------------------------------------------------------------------------- */

const struct server_cell server_cells[SERVER_KINDS][SERVER_CELLS] = {
	[SERVERS_OWN] = { { "none", "server_responses", "class",
				  "requests, by server and status class; none: without a "
				  "response" },
		{ .word = "2xx" }, { .word = "3xx" }, { .word = "4xx" }, { .word = "5xx" },
		{ "in", "server_received_bytes", NULL, "bytes of request bodies, by server" },
		{ "out", "server_sent_bytes", NULL, "bytes of response content, by server" } },
	[SERVERS_UPSTREAM] = { { "responses", "upstream_responses", NULL,
				       "responses of applications, by their server" },
		{ "connect", "upstream_errors", "reason",
			"failures of servers of applications, by reason" },
		{ .word = "timeout" }, { .word = "reset" }, { .word = "response" } },
};

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

static struct slice name_at(const struct slice *first, size_t size, unsigned i)
{
	return *(const struct slice *)(const void *)((const char *)first + i * size);
}

void titles_give(struct server_titles *titles, const struct slice *first, size_t size, unsigned n)
{
	struct name_map map = rows_of(titles);

	if (titles->n == 0)
		give(titles, SLICE(OTHER));
	for (unsigned i = 0; i < n && titles->n < SERVER_COUNTS_ROWS; i++)
		if (name_at(first, size, i).n < SERVER_COUNTS_TITLE &&
			name_map_get(&map, name_at(first, size, i)) == 0)
			give(titles, name_at(first, size, i));
	name_map_fini(&map);
}

uint16_t *titles_rows(
	const struct server_titles *titles, const struct slice *first, size_t size, unsigned n)
{
	uint16_t *rows = calloc(n, sizeof(*rows));
	struct name_map map = rows_of(titles);

	for (unsigned i = 0; rows != NULL && i < n; i++)
		rows[i] = (uint16_t)name_map_get(&map, name_at(first, size, i));
	name_map_fini(&map);
	return rows;
}

void server_counts_observe(int64_t *row, const struct req_record *record, int status)
{
	board_cell_add(&row[status >= 200 ? status / 100 - 1 : 0], 1);
	board_cell_add(&row[SERVER_BYTES_IN], (int64_t)record->bytes_in);
	board_cell_add(&row[SERVER_BYTES_OUT], (int64_t)record->bytes_out);
}

void server_counts_upstream(int64_t *row, const struct err *err)
{
	const struct err *const errs[] = { NULL, ERR_UPSTREAM_CONNECT, ERR_UPSTREAM_TIMEOUT,
		ERR_UPSTREAM_RESET, ERR_UPSTREAM_RESPONSE };

	for (unsigned i = 0; i < sizeof(errs) / sizeof(errs[0]); i++)
		if (errs[i] == err)
			board_cell_add(&row[i], 1);
}

/* --- recent ----------------------------------------------------------------------------------- */

/* A tick may be late: its counts are spread over the time that it took. */
static uint64_t per_second(int64_t now, int64_t before, uint64_t us)
{
	return (uint64_t)(now - before) * 1000000 / us;
}

static void add_buckets(int64_t *sum, const struct route_times *times)
{
	for (unsigned route = 0; route < ROUTE_TIMES_ROUTES; route++)
		for (unsigned class = 0; class < ROUTE_TIMES_CLASSES; class ++)
			for (unsigned i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
				sum[i] += times->v[route][class].first_byte.buckets[i];
}

/* Publishes the times since the oldest remembered call. */
static void first_byte(struct recent *r, struct board_slot *slot)
{
	int64_t now[ROUTE_TIMES_BOUNDS + 1] = { 0 };
	int64_t *before = r->first_byte[r->seconds++ % RECENT_SECONDS];

	add_buckets(now, &slot->times);
	for (unsigned i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
		__atomic_store_n(&slot->recent.first_byte[i], (uint32_t)(now[i] - before[i]),
			__ATOMIC_RELAXED);
	memcpy(before, now, sizeof(now));
}

void recent_second(struct recent *r, struct board_slot *slot)
{
	struct board_recent *shown = &slot->recent;
	uint64_t now = clock_us(), us = now - r->at_us;
	int64_t requests = counters->requests, bytes_out = counters->bytes_out;

	if (us == 0)
		return;
	if (r->at_us != 0) {
		__atomic_store_n(&shown->requests, (uint32_t)per_second(requests, r->requests, us),
			__ATOMIC_RELAXED);
		__atomic_store_n(&shown->bytes_out, per_second(bytes_out, r->bytes_out, us),
			__ATOMIC_RELAXED);
	}
	r->at_us = now;
	r->requests = requests;
	r->bytes_out = bytes_out;
	first_byte(r, slot);
}

void recent_read(struct board_recent *to, const struct board_slot *from)
{
	*to = (struct board_recent){
		.requests = BOARD_LOAD(from->recent.requests),
		.bytes_out = BOARD_LOAD(from->recent.bytes_out),
	};
	for (unsigned i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
		to->first_byte[i] = BOARD_LOAD(from->recent.first_byte[i]);
}

void recent_add(struct board_recent *sum, const struct board_recent *r)
{
	sum->requests += r->requests;
	sum->bytes_out += r->bytes_out;
	for (unsigned i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
		sum->first_byte[i] += r->first_byte[i];
}

double recent_quantile(const struct board_recent *r, double q)
{
	int64_t buckets[ROUTE_TIMES_BOUNDS + 1];

	for (unsigned i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
		buckets[i] = r->first_byte[i];
	return histogram_quantile(route_times_bounds, ROUTE_TIMES_BOUNDS, buckets, q);
}

unsigned recent_history(const struct board_head *head, uint32_t to[BOARD_HISTORY])
{
	uint32_t seconds = __atomic_load_n(&head->seconds, __ATOMIC_ACQUIRE);
	unsigned n = seconds < BOARD_HISTORY ? seconds : BOARD_HISTORY;

	for (unsigned i = 0; i < n; i++)
		to[i] = BOARD_LOAD(head->history[(seconds - n + i) % BOARD_HISTORY]);
	return n;
}
