/*
 * counters: the block this process counts in. Readers of another process's block use
 * counters_get() and counters_read() only.
 */
#include "base/counters.h"

#include <stddef.h>

#include "base/assert.h"

const struct counter_info counter_info[COUNTER_COUNT] = {
#define COUNTER(name, kind, help) { #name, COUNTER_##kind, help },
#include "base/counters.def"
};

const struct histogram_info histogram_info[HISTOGRAM_COUNT] = {
#define HISTOGRAM(name, help, ...) \
	{ #name, help, (const int64_t[]){ __VA_ARGS__ }, HISTOGRAM_BOUNDS(__VA_ARGS__), \
		offsetof(struct counters, name) / sizeof(int64_t) },
#include "base/counters.def"
};

_Static_assert(sizeof(struct counters) == COUNTERS_CELLS * sizeof(int64_t), "an array of int64_t");

static struct counters private_block;
struct counters *counters = &private_block;

void counters_to(struct counters *block)
{
	counters = block;
}

static void cell_add(int cell, int64_t n)
{
	int64_t *p = (int64_t *)counters + cell;

	__atomic_store_n(p, *p + n, __ATOMIC_RELAXED);
}

void counters_count(int cell)
{
	H2D_ASSERT(cell >= 0 && cell < COUNTER_COUNT);
	cell_add(cell, 1);
}

void histogram_add(enum histogram h, int64_t value)
{
	const struct histogram_info *info = &histogram_info[h];
	int i = histogram_bucket(info->bounds, info->nbounds, value);

	cell_add(info->cell + HISTOGRAM_VALUES, 1);
	cell_add(info->cell + HISTOGRAM_SUM, value);
	cell_add(info->cell + HISTOGRAM_BUCKETS + i, 1);
}

int64_t counters_get(const struct counters *block, int cell)
{
	H2D_ASSERT(cell >= 0 && cell < COUNTERS_CELLS);
	return __atomic_load_n((const int64_t *)block + cell, __ATOMIC_RELAXED);
}

bool counters_grows(int cell)
{
	return cell >= COUNTER_COUNT || counter_info[cell].kind == COUNTER_TOTAL;
}

void counters_read(struct counters *to, const struct counters *from)
{
	for (int i = 0; i < COUNTERS_CELLS; i++) {
		int64_t n = counters_get(from, i);

		((int64_t *)to)[i] = counters_grows(i) && n < 0 ? 0 : n;
	}
}

void counters_add(struct counters *sum, const struct counters *n)
{
	for (int i = 0; i < COUNTERS_CELLS; i++) {
		int64_t *p = (int64_t *)sum + i;

		*p = (int64_t)((uint64_t)*p + (uint64_t)counters_get(n, i));
	}
}

/* --- any histogram ---------------------------------------------------------------------------- */

static double in_bucket(const int64_t *buckets, int i)
{
	return buckets[i] > 0 ? (double)buckets[i] : 0;
}

static int64_t histogram_count(const int64_t *buckets, int nbounds)
{
	uint64_t n = 0;

	for (int i = 0; i <= nbounds; i++)
		n += buckets[i] > 0 ? (uint64_t)buckets[i] : 0;
	return n <= INT64_MAX ? (int64_t)n : INT64_MAX;
}

double histogram_quantile(const int64_t *bounds, int nbounds, const int64_t *buckets, double q)
{
	double rank, below = 0, low = 0;
	int i = 0;

	rank = q * (double)histogram_count(buckets, nbounds);
	if (histogram_count(buckets, nbounds) == 0)
		return -1;
	while (i < nbounds && below + in_bucket(buckets, i) < rank)
		below += in_bucket(buckets, i++);
	if (i == nbounds)
		return (double)bounds[nbounds - 1];
	if (in_bucket(buckets, i) == 0) /* q is 0, and the first buckets are empty */
		return 0;
	if (i > 0)
		low = (double)bounds[i - 1];
	return low + ((double)bounds[i] - low) * (rank - below) / in_bucket(buckets, i);
}
