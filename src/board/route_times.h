/*
 * route_times: how long requests took, from their first field to the head of the response and to
 * their end, by what answered them and by the class of the status: histograms in a worker's part of
 * the scoreboard. The worker's loop writes; others read it as hostile data by route_times_add().
 */
#ifndef H2D_BOARD_ROUTE_TIMES_H
#define H2D_BOARD_ROUTE_TIMES_H

#include "request/req_record.h"

enum {
	ROUTE_TIMES_ROUTES = 32, /* by number (request/req_record.h); the last is for all others */
	ROUTE_TIMES_OTHER = ROUTE_TIMES_ROUTES - 1,
	ROUTE_TIMES_CLASSES = 5, /* no response, and 2xx to 5xx */
	ROUTE_TIMES_BOUNDS = 10,
};

/* Microseconds. */
struct route_time {
	int64_t sum, buckets[ROUTE_TIMES_BOUNDS + 1];
};

struct route_times {
	struct route_times_cell {
		struct route_time duration, first_byte;
	} v[ROUTE_TIMES_ROUTES][ROUTE_TIMES_CLASSES];
};

extern const int64_t route_times_bounds[ROUTE_TIMES_BOUNDS];

/* A request is over; status 0: it had no response. */
void route_times_observe(struct route_times *t, const struct req_record *record, int status);

/* Adds what from says, each cell read once; cells below 0 count as 0, sums wrap around. */
void route_times_add(struct route_times *sum, const struct route_times *from);

/* "none", "2xx" …; "other" or the name of the route. */
const char *route_times_class(unsigned class);
struct slice route_times_route(const struct route_table *routes, unsigned route);

/* The method of its row, which stands for HEAD too if it is GET; n 0: it is none of the rows. */
struct slice route_times_method(const struct route_table *routes, unsigned route);

/* True if the route is one of this server's. */
bool route_times_has(const struct route_table *routes, unsigned route);

#endif
