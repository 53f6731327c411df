/*
 * histogram: counts and quantiles of buckets, for those who show them; the hot path calls the
 * header's function only. Never divides by what a process gone mad may have made 0.
 */
#include "base/histogram.h"

static double in_bucket(const int64_t *buckets, int i)
{
	return buckets[i] > 0 ? (double)buckets[i] : 0;
}

int64_t histogram_count(const int64_t *buckets, int nbounds)
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
