/* check_counters: every counter is reachable by name and by index; err: every row is answerable. */
#include "base/counters.h"

#include "base/err.h"
#include "unit.h"

TEST(by_name_and_index)
{
	struct counters block = { 0 };

	counters_to(&block);
	COUNT(connections, 3);
	COUNT(connections, -1);
	COUNT(protocol_errors, 7);
	ck_assert_int_eq(counters_get(&block, COUNTER_connections), 2);
	ck_assert_int_eq(counters_get(&block, COUNTER_protocol_errors), 7);
	ck_assert_int_eq(counters_get(&block, COUNTER_requests), 0);
	ck_assert_str_eq(counter_info[COUNTER_connections].name, "connections");
	ck_assert_int_eq(counter_info[COUNTER_connections].kind, COUNTER_GAUGE);
	ck_assert_int_eq(counter_info[COUNTER_bytes_out].kind, COUNTER_TOTAL);
}

TEST(table)
{
	for (int i = 0; i < COUNTER_COUNT; i++) {
		ck_assert_uint_gt(strlen(counter_info[i].help), 0);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(counter_info[i].name, counter_info[j].name);
	}
}

/* A value is in the first bucket whose bound it does not pass. */
TEST(histogram)
{
	const struct histogram_info *h = &histogram_info[HISTOGRAM_handshake_us];
	struct counters block = { 0 };
	int64_t sum = 0;

	counters_to(&block);
	for (int i = 0; i < h->nbounds; i++) {
		OBSERVE(handshake_us, h->bounds[i]);
		OBSERVE(handshake_us, h->bounds[i] + 1);
		sum += 2 * h->bounds[i] + 1;
	}
	ck_assert_int_eq(counters_get(&block, h->cell + HISTOGRAM_VALUES), 2 * h->nbounds);
	ck_assert_int_eq(counters_get(&block, h->cell + HISTOGRAM_SUM), sum);
	for (int i = 0; i <= h->nbounds; i++)
		ck_assert_int_eq(block.handshake_us.buckets[i], 1 + (i > 0 && i < h->nbounds));
	OBSERVE(handshake_us, -1);
	ck_assert_int_eq(block.handshake_us.buckets[0], 2);
	for (int i = 0; i < COUNTER_COUNT; i++)
		ck_assert_int_eq(counters_get(&block, i), 0);
}

TEST(histogram_table)
{
	for (int i = 0; i < HISTOGRAM_COUNT; i++) {
		const struct histogram_info *h = &histogram_info[i];

		ck_assert_uint_gt(strlen(h->help), 0);
		ck_assert_int_ge(h->cell, COUNTER_COUNT);
		ck_assert_int_le(h->cell + HISTOGRAM_BUCKETS + h->nbounds, COUNTERS_CELLS - 1);
		ck_assert_int_gt(h->nbounds, 0);
		for (int k = 1; k < h->nbounds; k++)
			ck_assert_int_gt(h->bounds[k], h->bounds[k - 1]);
		for (int k = 0; k < COUNTER_COUNT; k++)
			ck_assert_str_ne(h->name, counter_info[k].name);
	}
}

TEST(read_and_add)
{
	struct counters a = { 0 }, b = { 0 };

	a.requests = 3;
	a.protocol_errors = INT64_MAX;
	a.handshake_us.buckets[1] = 4;
	counters_read(&b, &a);
	ck_assert_mem_eq(&a, &b, sizeof(a));
	counters_add(&b, &a);
	ck_assert_int_eq(b.requests, 6);
	ck_assert_int_eq(b.protocol_errors, -2);
	ck_assert_int_eq(b.handshake_us.buckets[1], 8);
	ck_assert(counters_grows(COUNTER_requests) && !counters_grows(COUNTER_connections));
	ck_assert(counters_grows(COUNTERS_CELLS - 1));
}

TEST(private_block)
{
	COUNT(requests, 1);
	ck_assert_int_eq(counters_get(counters, COUNTER_requests), 1);
}

TEST(errs)
{
	const struct err *const all[] = {
#define ERR(name, status, code, scope, level, text) ERR_##name,
#include "base/err.def"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct err *e = all[i];

		/* A request error is answered; a connection error if HTTP/1 has a status for it. */
		ck_assert_msg((e->status >= 400 && e->status < 600) ||
				      (e->status == 0 && e->scope != ERR_REQUEST),
			"%s", e->name);
		/* RFC 9113, 7 */
		ck_assert_msg(e->h2_code <= 0xd, "%s", e->name);
		ck_assert_uint_gt(strlen(e->text), 0);
	}
	ck_assert_str_eq(ERR_FLOOD->name, "FLOOD");
	ck_assert_int_eq(ERR_FLOOD->h2_code, 0xb);
	ck_assert_int_eq(ERR_NO_MEMORY->level, LEVEL_ERROR);
}

/* Those that say that a limit struck are counted, whether they are logged or not. */
TEST(errs_of_limits)
{
	struct addr peer = { 0 };
	struct counters block = { 0 };

	counters_to(&block);
	log_max = LEVEL_ALERT;
	err_log(ERR_BODY_TOO_LARGE, &peer);
	err_log(ERR_HEADER_BLOCK, &peer);
	err_log(ERR_FIELDS_TOO_LARGE, &peer);
	err_log(ERR_TIMEOUT_SEND, &peer);
	err_log(ERR_CHUNK, &peer);
	ck_assert_int_eq(block.limit_body, 1);
	ck_assert_int_eq(block.limit_header, 2);
	ck_assert_int_eq(block.timeout_send, 1);
	ck_assert_int_eq(block.timeout_body, 0);
}

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
	ck_assert_double_ge(histogram_quantile(bounds, N, mad, 0.5), 0);
}
