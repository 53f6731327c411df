/*
 * counters: what a worker counts, from counters.def: totals that only grow, gauges that return to
 * zero, and histograms. One writer (the worker's loop thread), read by others out of shared memory
 * with relaxed loads. Until counters_to() is called they go to a block private to the process, so
 * that tests need nothing.
 */
#ifndef H2D_BASE_COUNTERS_H
#define H2D_BASE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

enum counter_kind { COUNTER_TOTAL, COUNTER_GAUGE };

/* How many upper bounds a histogram has. */
#define HISTOGRAM_BOUNDS(...) (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/*
 * An array of int64_t, in which each value is found by its cell: a counter has one, a histogram
 * how many values there were, their sum, and a bucket for each bound and for what is above all.
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

/* Cells of a histogram, from its first. */
enum { HISTOGRAM_VALUES, HISTOGRAM_SUM, HISTOGRAM_BUCKETS };

/* One row per histogram; a bucket counts what is at most its bound and above the one before. */
struct histogram_info {
	const char *name;
	const char *help;
	const int64_t *bounds; /* rising */
	int nbounds;
	int cell; /* its first */
};
extern const struct histogram_info histogram_info[HISTOGRAM_COUNT];

extern struct counters *counters;

/* From now on this process counts in block (shared memory, zeroed by the caller). */
void counters_to(struct counters *block);

/* Adds n (may be negative for gauges). */
#define COUNT(name, n) __atomic_store_n(&counters->name, counters->name + (n), __ATOMIC_RELAXED)

/* COUNT(name, 1), by the cell of the name. */
void counters_count(int cell);

/* Adds a value to a histogram. */
#define OBSERVE(name, value) histogram_add(HISTOGRAM_##name, (value))
void histogram_add(enum histogram h, int64_t value);

/* A cell of block; another process may be writing it. */
int64_t counters_get(const struct counters *block, int cell);

/* Whether a cell only ever grows. */
bool counters_grows(int cell);

/* Copies from, which another process may be writing, each cell read once. */
void counters_read(struct counters *to, const struct counters *from);

/* Adds each cell of n, a copy of the caller's own, to sum; sums that are too large wrap around. */
void counters_add(struct counters *sum, const struct counters *n);

/*
 * histogram: values that are counted by buckets with rising upper bounds, and one more for what is
 * above them all, wherever the buckets lie.
 */

/* The bucket of a value, of nbounds + 1: the first whose bound it does not pass. */
static inline int histogram_bucket(const int64_t *bounds, int nbounds, int64_t value)
{
	int i = 0;

	while (i < nbounds && value > bounds[i])
		i++;
	return i;
}

/* How many values there are. Buckets below 0, of a process gone mad, count as empty. */
int64_t histogram_count(const int64_t *buckets, int nbounds);

/*
 * The value that q (0 to 1) of all values do not pass, as histogram_quantile() of Prometheus has
 * it: they are taken to lie evenly between the bounds of their bucket, the first of which begins at
 * 0; what is above the last bound counts as that bound. -1 if there are no values.
 */
double histogram_quantile(const int64_t *bounds, int nbounds, const int64_t *buckets, double q);

#endif
