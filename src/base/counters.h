/*
 * counters: what a worker counts, from counters.def: totals that only grow, gauges that return to
 * zero, and histograms. One writer (the worker's loop thread). Until counters_to() is called they
 * are in a block private to the process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum counter_kind { COUNTER_TOTAL, COUNTER_GAUGE };

/* The number of a histogram's upper bounds. */
#define HISTOGRAM_BOUNDS(...) (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/*
 * An array of int64_t, by cell: a counter has one; a histogram has the number of values, their sum,
 * and a bucket for each bound and for larger values.
 */
struct counters {
#define COUNTER(name, kind, help) int64_t name;
#include "base/counters.def"
#define HISTOGRAM(name, help, ...) \
	struct { \
		int64_t values, sum, buckets[HISTOGRAM_BOUNDS(__VA_ARGS__) + 1]; \
	} name;
#include "base/counters.def"
};

enum {
#define COUNTER(name, kind, help) COUNTER_##name,
#include "base/counters.def"
	COUNTER_COUNT,
	COUNTERS_CELLS = sizeof(struct counters) / sizeof(int64_t)
};

enum histogram {
#define HISTOGRAM(name, help, ...) HISTOGRAM_##name,
#include "base/counters.def"
	HISTOGRAM_COUNT
};

/* One row per counter, in the order of struct counters. */
struct counter_info {
	const char *name;
	enum counter_kind kind;
	const char *help;
};
extern const struct counter_info counter_info[COUNTER_COUNT];

/* Cells of a histogram, counted from its first. */
enum { HISTOGRAM_VALUES, HISTOGRAM_SUM, HISTOGRAM_BUCKETS };

/* One row per histogram; a bucket counts values of at most its bound that are above the one
 * before. */
struct histogram_info {
	const char *name;
	const char *help;
	const int64_t *bounds; /* rising */
	int nbounds;
	int cell; /* its first */
};
extern const struct histogram_info histogram_info[HISTOGRAM_COUNT];

extern struct counters *counters;

/* Makes block (shared memory, zeroed by the caller) the counters of this process. */
void counters_to(struct counters *block);

/* Adds n (may be negative for gauges). */
#define COUNT(name, n) __atomic_store_n(&counters->name, counters->name + (n), __ATOMIC_RELAXED)

/* COUNT(name, 1), by the cell. */
void counters_count(int cell);

/* Adds a value to a histogram. */
#define OBSERVE(name, value) histogram_add(HISTOGRAM_##name, (value))
void histogram_add(enum histogram h, int64_t value);

/* A cell of block; another process may be writing it. */
int64_t counters_get(const struct counters *block, int cell);

/* True if a cell only grows. */
bool counters_grows(int cell);

/* Copies from, which another process may be writing; reads each cell once. Totals below 0, of a
 * corrupt process, become 0. */
void counters_read(struct counters *to, const struct counters *from);

/* Adds each cell of n, a copy of the caller's own, to sum; sums that are too large wrap around. */
void counters_add(struct counters *sum, const struct counters *n);

/*
 * histogram: values that are counted by buckets with rising upper bounds, and one more for larger
 * values, wherever the buckets are stored.
 */

/* The bucket of a value, of nbounds + 1: the first whose bound it does not exceed. */
static inline int histogram_bucket(const int64_t *bounds, int nbounds, int64_t value)
{
	int i = 0;

	while (i < nbounds && value > bounds[i])
		i++;
	return i;
}

/*
 * The value that a share q (0 to 1) of all values does not exceed, by the rule of Prometheus'
 * histogram_quantile(): values are spread evenly between the bounds of their bucket, and the first
 * bucket begins at 0; values above the last bound count as that bound. Buckets below 0, from a
 * corrupt process, count as empty. -1 if there are no values.
 */
double histogram_quantile(const int64_t *bounds, int nbounds, const int64_t *buckets, double q);
