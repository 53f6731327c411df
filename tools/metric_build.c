/*
 * metric_build: checks rows by the formats of metrics (Prometheus' text format, OpenMetrics), and
 * writes the table that src/base/handler_counts.h declares. Called by key_gen and by tests; opens
 * no file.
 */
#include "tools/metric_build.h"

#include <math.h>
#include <string.h>

#include "base/handler_counts.h"
#include "tools/row_gen.h"

enum { NAME_MAX_BYTES = 64 };

struct build {
	const struct metric_row *rows;
	unsigned n;
	struct row_faults faults;
};

#define FAULT(b, row, text, ...) \
	row_fault(&(b)->faults, (row)->file, (row)->line, "metric \"%s\": " text, \
		(row)->name __VA_OPT__(, ) __VA_ARGS__)

/* --- checks ----------------------------------------------------------------------------------- */

static bool ends_in(const char *name, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n > m && memcmp(name + n - m, end, m) == 0;
}

static bool is_total(const char *name)
{
	return ends_in(name, strlen(name), "_total");
}

/* The bytes of the family's name: without a counter's "_total" in OpenMetrics. */
static size_t family(const struct metric_row *row)
{
	return strlen(row->name) - (row->bounds == NULL && is_total(row->name) ? 6 : 0);
}

static bool is_name(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < NAME_MAX_BYTES && name[0] >= 'a' && name[0] <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

/* Suffixes of a family's samples: a name with one could be another's sample. */
static bool has_reserved_end(const struct metric_row *row)
{
	static const char *const ends[] = { "_total", "_sum", "_count", "_bucket", "_info",
		"_created" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends_in(row->name, family(row), ends[i]))
			return true;
	return false;
}

static void check_name(struct build *b, const struct metric_row *row)
{
	if (!is_name(row->name))
		FAULT(b, row, "use the letters a to z, digits and \"_\", a letter first");
	else if (strncmp(row->name, "h2d_", 4) == 0)
		FAULT(b, row, "\"h2d_\" is reserved for the server");
	else if (row->bounds == NULL && !is_total(row->name))
		FAULT(b, row, "a counter must end in \"_total\"");
	else if (has_reserved_end(row))
		FAULT(b, row, "this ending is reserved");
}

static void check_alone(struct build *b, const struct metric_row *row)
{
	for (const struct metric_row *r = b->rows; r < row; r++)
		if (family(r) == family(row) && memcmp(r->name, row->name, family(row)) == 0) {
			FAULT(b, row, "duplicate of %s:%d", r->file, r->line);
			return;
		}
}

static void check_bounds(struct build *b, const struct metric_row *row)
{
	if (row->nbounds < 1 || row->nbounds > HANDLER_COUNTS_BOUNDS)
		FAULT(b, row, "it has %u upper bounds instead of 1 to %d", row->nbounds,
			HANDLER_COUNTS_BOUNDS);
	for (unsigned i = 0; i < row->nbounds; i++)
		if (!isfinite(row->bounds[i]) ||
			row->bounds[i] <= (i > 0 ? row->bounds[i - 1] : 0)) {
			FAULT(b, row, "its upper bounds must be above 0 and rise");
			return;
		}
}

static void metric_build_check(struct build *b, const struct metric_row *row)
{
	check_name(b, row);
	check_alone(b, row);
	if (row->help == NULL || row->help[0] == '\0' || strchr(row->help, '\n') != NULL)
		FAULT(b, row, "it needs a help text of one line");
	if (row->bounds != NULL)
		check_bounds(b, row);
	if (row == b->rows + HANDLER_COUNTS_ROWS)
		FAULT(b, row, "more than %d metrics", HANDLER_COUNTS_ROWS);
}

/* --- the table -------------------------------------------------------------------------------- */

static void write_row(const struct metric_row *row, FILE *out)
{
	fprintf(out, "\t{ .handler = \"%s\", .name = \"%s\", .help = ", row->handler, row->name);
	row_write_string(row->help, out);
	if (row->bounds != NULL) {
		fputs(",\n\t\t.bounds = (const double[]){ ", out);
		for (unsigned i = 0; i < row->nbounds; i++)
			fprintf(out, "%.17g, ", row->bounds[i]);
		fprintf(out, "}, .nbounds = %u", row->nbounds);
	}
	fputs(" },\n", out);
}

static void write_table(const struct build *b, FILE *out)
{
	fputs("\n/* Made by key_gen from the metrics.def of handlers. */\n"
	      "#include \"base/handler_counts.h\"\n\n",
		out);
	if (b->n > 0)
		fputs("static const struct handler_metric metrics[] = {\n", out);
	for (unsigned i = 0; i < b->n; i++)
		write_row(&b->rows[i], out);
	if (b->n > 0)
		fputs("};\n\n", out);
	fprintf(out, "const struct handler_metrics handler_metrics = { %s, %u };\n",
		b->n > 0 ? "metrics" : "0", b->n);
}

int metric_build(const struct metric_row *rows, unsigned n, FILE *out, FILE *err)
{
	struct build b = { .rows = rows, .n = n, .faults.err = err };

	for (unsigned i = 0; i < n; i++)
		metric_build_check(&b, &rows[i]);
	if (!b.faults.any)
		write_table(&b, out);
	return b.faults.any ? -1 : 0;
}
