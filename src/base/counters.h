/*
 * counters: what a worker counts, from counters.def: totals that only grow and gauges that return to
 * zero. One writer (the worker's loop thread), read by others out of shared memory with relaxed loads.
 * Until counters_to() is called they go to a block private to the process, so that tests need nothing.
 */
#ifndef H2D_BASE_COUNTERS_H
#define H2D_BASE_COUNTERS_H

#include <stdint.h>

enum counter_kind { COUNTER_TOTAL, COUNTER_GAUGE };

struct counters {
#define COUNTER(name, kind, help) int64_t name;
#include "base/counters.def"
};

enum {
#define COUNTER(name, kind, help) COUNTER_##name,
#include "base/counters.def"
	COUNTER_COUNT
};

/* One row per counter, in the order of struct counters. */
struct counter_info {
	const char *name;
	enum counter_kind kind;
	const char *help;
};
extern const struct counter_info counter_info[COUNTER_COUNT];

extern struct counters *counters;

/* From now on this process counts in block (shared memory, zeroed by the caller). */
void counters_to(struct counters *block);

/* Adds n (may be negative for gauges). */
#define COUNT(name, n) \
	__atomic_store_n(&counters->name, counters->name + (n), __ATOMIC_RELAXED)

/* The i-th value of block, whoever writes it. */
int64_t counters_get(const struct counters *block, int i);

#endif
