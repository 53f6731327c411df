/* route_times: counts each request in the histograms of its route and class; reads no clock. */
#include "board/board.h"

#include "base/counters.h"
#include "rules/route.h"

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
	static const char *const names[ROUTE_TIMES_CLASSES] = { "none", "2xx", "3xx", "4xx",
		"5xx" };

	return names[class];
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
