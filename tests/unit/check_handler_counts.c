/*
 * check_handler_counts: faults of rows of metrics.def, each with its line, and what is counted by
 * the table of tests/handlers/metrics.def.
 */
#include "base/handler_counts.h"

#include <math.h>

#include "tools/metric_build.h"
#include "unit_pure.h"

/* --- rows ------------------------------------------------------------------------------------- */

#define NUMBERS(...) \
	(const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)
#define COUNTER NULL, 0
#define NAMES   "use the letters a to z, digits and \"_\", a letter first"
#define ENDS    "this ending is reserved"
#define BOUNDS  "its upper bounds must be above 0 and rise"

static const struct {
	const char *name, *help;
	const double *bounds;
	unsigned nbounds;
	const char *fault; /* behind "a/metrics.def:2: metric "NAME": "; NULL: none */
} rows[] = {
	{ "b_total", "Help.", COUNTER, NULL },
	{ "b", "Help.", NUMBERS(0.5, 1), NULL },
	{ "b", "Help.", NUMBERS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), NULL },
	{ "a_total", "Help.", COUNTER, "duplicate of a/metrics.def:1" },
	{ "a", "Help.", NUMBERS(1), "duplicate of a/metrics.def:1" },
	{ "h2d_b_total", "Help.", COUNTER, "\"h2d_\" is reserved for the server" },
	{ "", "Help.", COUNTER, NAMES },
	{ "B_total", "Help.", COUNTER, NAMES },
	{ "_b_total", "Help.", COUNTER, NAMES },
	{ "1_total", "Help.", COUNTER, NAMES },
	{ "b-total", "Help.", COUNTER, NAMES },
	{ "b:c_total", "Help.", COUNTER, NAMES },
	{ "b", "Help.", COUNTER, "a counter must end in \"_total\"" },
	{ "_total", "Help.", COUNTER, NAMES },
	{ "b_count_total", "Help.", COUNTER, ENDS },
	{ "b_total", "Help.", NUMBERS(1), ENDS },
	{ "b_bucket", "Help.", NUMBERS(1), ENDS },
	{ "b_total", "", COUNTER, "it needs a help text of one line" },
	{ "b_total", "a\nb", COUNTER, "it needs a help text of one line" },
	{ "b", "Help.", NUMBERS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
		"it has 15 upper bounds instead of 1 to 14" },
	{ "b", "Help.", NUMBERS(1, 1), BOUNDS },
	{ "b", "Help.", NUMBERS(0), BOUNDS },
	{ "b", "Help.", NUMBERS(1, INFINITY), BOUNDS },
};

/* What is said of n rows; out: whether there is a table. */
static char *said(const struct metric_row *of, unsigned n, bool *out)
{
	char *text = NULL, *err = NULL;
	size_t ntext, nerr;
	FILE *texts = open_memstream(&text, &ntext), *errs = open_memstream(&err, &nerr);
	int rc = metric_build(of, n, texts, errs);

	fclose(texts);
	fclose(errs);
	*out = ntext > 0;
	ck_assert_int_eq(rc, *out ? 0 : -1);
	free(text);
	return err;
}

TEST_ROWS(a_row, rows)
{
	const struct metric_row two[] = {
		{ "a/metrics.def", 1, "kv", "a_total", "Help.", NULL, 0 },
		{ "a/metrics.def", 2, "kv", rows[_i].name, rows[_i].help, rows[_i].bounds,
			rows[_i].nbounds },
	};
	char want[256] = "";
	bool out;
	char *err = said(two, 2, &out);

	if (rows[_i].fault != NULL)
		snprintf(want, sizeof(want), "a/metrics.def:2: metric \"%s\": %s\n", rows[_i].name,
			rows[_i].fault);
	ck_assert_str_eq(err, want);
	ck_assert_int_eq(out, rows[_i].fault == NULL);
	free(err);
}

TEST(too_many_rows)
{
	static char names[HANDLER_COUNTS_ROWS + 2][24];
	struct metric_row many[HANDLER_COUNTS_ROWS + 2];
	bool out;
	char *err;

	for (int i = 0; i < HANDLER_COUNTS_ROWS + 2; i++) {
		snprintf(names[i], sizeof(names[i]), "a%d_total", i);
		many[i] = (struct metric_row){ "m", i + 1, "kv", names[i], "Help.", NULL, 0 };
	}
	err = said(many, HANDLER_COUNTS_ROWS, &out);
	ck_assert_str_eq(err, "");
	free(err);
	err = said(many, HANDLER_COUNTS_ROWS + 2, &out);
	ck_assert_str_eq(err, "m:65: metric \"a64_total\": more than 64 metrics\n");
	free(err);
}

/* --- counting --------------------------------------------------------------------------------- */

static struct handler_counts counts;

static const struct handler_count *of(const struct handler_metric *row)
{
	return &counts.v[row - handler_metrics.rows];
}

TEST(counts_and_values)
{
	const struct handler_metric *hits = handler_counts_row("t_metrics", "t_hits_total");
	const struct handler_metric *time = handler_counts_row("t_metrics", "t_query_seconds");
	static const double values[] = { 0.001, 0.2, 0.25, 2, 11, -1, NAN, INFINITY };

	ck_assert_ptr_null(handler_counts_row("t_metrics", "t_other_total"));
	ck_assert_ptr_null(handler_counts_row("t_metrics", "t_hits"));
	handler_counts_to(&counts);
	handler_counts_count(hits, 3);
	handler_counts_count(hits, 4294967296.0);
	ck_assert(of(hits)->sum == 4294967299.0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		handler_counts_observe(time, values[i]);
	ck_assert_double_eq_tol(of(time)->sum, 13.451, 1e-9);
	ck_assert_int_eq((int)of(time)->buckets[0], 4);
	ck_assert_int_eq((int)of(time)->buckets[1], 2);
	ck_assert_int_eq((int)of(time)->buckets[2], 0);
	ck_assert_int_eq((int)of(time)->buckets[3], 1);
	ck_assert_int_eq((int)of(time)->buckets[4], 1);
	ck_assert_int_eq((int)handler_counts_values(time, of(time)), 8);
}

/* A process gone mad writes anything. */
TEST(sums)
{
	struct handler_counts sum = { 0 }, mad = { 0 };

	mad.v[0].sum = NAN;
	mad.v[1].sum = -5;
	mad.v[2].sum = INFINITY;
	mad.v[3].sum = 2;
	for (int i = 0; i < 2; i++)
		handler_counts_add(&sum, &mad);
	for (int i = 0; i < 3; i++)
		ck_assert(sum.v[i].sum == 0);
	ck_assert(sum.v[3].sum == 4);
}

TEST(text)
{
	char buf[32];

	ck_assert_str_eq(handler_counts_text(buf, 0), "0");
	ck_assert_str_eq(handler_counts_text(buf, 0.1), "0.1");
	ck_assert_str_eq(handler_counts_text(buf, 0.1 + 0.2), "0.30000000000000004");
	ck_assert_str_eq(handler_counts_text(buf, 4294967299.0), "4294967299");
	ck_assert_str_eq(handler_counts_text(buf, 9007199254740991.0), "9007199254740991");
}
