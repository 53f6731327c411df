/* check_metrics_out: families and samples in both formats, to the byte. */
#include "board/metrics.h"

#include "unit.h"

static void expect(struct metrics_out *o, const char *text)
{
	ck_assert(!o->t.failed);
	strbuf_add(&o->t, slice_of("", 1));
	ck_assert_str_eq(o->t.p, text);
	strbuf_fini(&o->t);
}

static void counter(struct metrics_out *o)
{
	metrics_family(o, METRICS_COUNTER, "sent_bytes", "bytes \"sent\",\nby \\");
	metrics_sample(o, NULL, 0, 7);
	metrics_end(o);
}

TEST(counters)
{
	struct metrics_out text = { .form = METRICS_TEXT }, open = { .form = METRICS_OPEN };

	counter(&text);
	expect(&text, "# TYPE h2d_sent_bytes_total counter\n"
		      "# HELP h2d_sent_bytes_total bytes \"sent\",\\nby \\\\\n"
		      "h2d_sent_bytes_total 7\n");
	counter(&open);
	expect(&open, "# TYPE h2d_sent_bytes counter\n"
		      "# UNIT h2d_sent_bytes bytes\n"
		      "# HELP h2d_sent_bytes bytes \\\"sent\\\",\\nby \\\\\n"
		      "h2d_sent_bytes_total 7\n"
		      "# EOF\n");
}

static void info(struct metrics_out *o)
{
	const struct metrics_label labels[] = { { "a", SLICE("x\"y\\z\n") }, { "b", { 0 } } };

	metrics_family(o, METRICS_INFO, "build", "b");
	metrics_sample(o, labels, 2, 1);
}

TEST(labels)
{
	struct metrics_out text = { .form = METRICS_TEXT }, open = { .form = METRICS_OPEN };

	info(&text);
	expect(&text, "# TYPE h2d_build_info gauge\n# HELP h2d_build_info b\n"
		      "h2d_build_info{a=\"x\\\"y\\\\z\\n\",b=\"\"} 1\n");
	info(&open);
	expect(&open, "# TYPE h2d_build info\n# HELP h2d_build b\n"
		      "h2d_build_info{a=\"x\\\"y\\\\z\\n\",b=\"\"} 1\n");
}

TEST(histogram)
{
	static const int64_t bounds[] = { 500, 1000000, 2500000 }, buckets[] = { 1, -5, 2, 3 };
	const struct metrics_buckets b = { bounds, buckets, 3, 12000001 };
	const struct metrics_label label = { "r", SLICE("/") };
	struct metrics_out o = { .form = METRICS_TEXT };

	metrics_family(&o, METRICS_HISTOGRAM, "x_seconds", "h");
	metrics_histogram(&o, &label, 1, &b);
	expect(&o, "# TYPE h2d_x_seconds histogram\n# HELP h2d_x_seconds h\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"0.0005\"} 1\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"1.0\"} 1\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"2.5\"} 3\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"+Inf\"} 6\n"
		   "h2d_x_seconds_sum{r=\"/\"} 12.000001\n"
		   "h2d_x_seconds_count{r=\"/\"} 6\n");
}

TEST(histogram_without_labels)
{
	static const int64_t bounds[] = { 1000 }, buckets[] = { 0, 0 };
	const struct metrics_buckets b = { bounds, buckets, 1, -3 };
	struct metrics_out o = { .form = METRICS_OPEN };

	metrics_family(&o, METRICS_HISTOGRAM, "x_seconds", "h");
	metrics_histogram(&o, NULL, 0, &b);
	expect(&o, "# TYPE h2d_x_seconds histogram\n# UNIT h2d_x_seconds seconds\n"
		   "# HELP h2d_x_seconds h\n"
		   "h2d_x_seconds_bucket{le=\"0.001\"} 0\n"
		   "h2d_x_seconds_bucket{le=\"+Inf\"} 0\n"
		   "h2d_x_seconds_sum 0.0\n"
		   "h2d_x_seconds_count 0\n");
}

UNIT_MAIN_PURE("metrics_out")
