/* check_histogram: which bucket a value is in, and what quantiles the buckets tell. */
#include "base/histogram.h"

#include "unit.h"

enum { N = 3 };

static const int64_t bounds[N] = { 10, 20, 40 };

TEST(bucket)
{
	static const struct {
		int64_t value;
		int bucket;
	} cases[] = { { INT64_MIN, 0 }, { 0, 0 }, { 10, 0 }, { 11, 1 }, { 20, 1 }, { 21, 2 },
		{ 40, 2 }, { 41, 3 }, { INT64_MAX, 3 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_int_eq(histogram_bucket(bounds, N, cases[i].value), cases[i].bucket);
}

static double quantile(int64_t a, int64_t b, int64_t c, int64_t d, double q)
{
	const int64_t buckets[N + 1] = { a, b, c, d };

	return histogram_quantile(bounds, N, buckets, q);
}

TEST(quantiles)
{
	ck_assert_double_eq_tol(quantile(4, 0, 0, 0, 0.5), 5, 1e-9);
	ck_assert_double_eq_tol(quantile(2, 2, 0, 0, 0.5), 10, 1e-9);
	ck_assert_double_eq_tol(quantile(2, 2, 0, 0, 0.75), 15, 1e-9);
	ck_assert_double_eq_tol(quantile(0, 0, 10, 0, 0.9), 38, 1e-9);
	ck_assert_double_eq_tol(quantile(1, 1, 1, 1, 1), 40, 1e-9);
	ck_assert_double_eq_tol(quantile(0, 0, 0, 7, 0.5), 40, 1e-9);
	ck_assert_double_eq_tol(quantile(0, 3, 0, 0, 0), 0, 1e-9);
}

TEST(nothing_and_nonsense)
{
	static const int64_t mad[N + 1] = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX };

	ck_assert_double_eq_tol(quantile(0, 0, 0, 0, 0.5), -1, 1e-9);
	ck_assert_double_eq_tol(quantile(-5, INT64_MIN, -1, -1, 0.5), -1, 1e-9);
	ck_assert_double_eq_tol(quantile(-5, 2, -1, -1, 0.5), 15, 1e-9);
	ck_assert_int_eq(histogram_count((const int64_t[]){ 1, -7, 2, 0 }, N), 3);
	ck_assert_int_gt(histogram_count(mad, N), 0);
	ck_assert_double_ge(histogram_quantile(bounds, N, mad, 0.5), 0);
}

UNIT_MAIN_PURE("histogram")
