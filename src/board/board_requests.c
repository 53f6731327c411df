/* recent: differences of counters between two ticks. */
#include "board/board.h"

#include <string.h>

#include "base/clock.h"
#include "base/counters.h"

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
