/*
 * histogram: values that are counted by buckets with rising upper bounds, and one more for what is
 * above them all. Pure: where the buckets lie is the owner's business (base/counters.h,
 * board/board.h); who shows them asks here for quantiles.
 */
#ifndef H2D_BASE_HISTOGRAM_H
#define H2D_BASE_HISTOGRAM_H

#include <stdint.h>

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
