/*
 * metric_build: checks rows as those who scrape metrics would (Prometheus' text format,
 * OpenMetrics), and writes the table that src/base/handler_counts.h declares. Called by key_gen and
 * by tests; opens nothing.
 */
#include "base/metric_build.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/handler_counts.h"

enum { NAME_MAX_BYTES = 64 };

struct build {
	const struct metric_row *rows;
	unsigned n;
	FILE *err;
	bool failed;
};

/* --- checks ----------------------------------------------------------------------------------- */

static void fault(struct build *b, const struct metric_row *row, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fault(struct build *b, const struct metric_row *row, const char *fmt, ...)
{
	va_list ap;

	fprintf(b->err, "%s:%d: metric \"%s\": ", row->file, row->line, row->name);
	va_start(ap, fmt);
	vfprintf(b->err, fmt, ap);
	va_end(ap);
	putc('\n', b->err);
	b->failed = true;
}

static bool ends_in(const char *name, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n > m && memcmp(name + n - m, end, m) == 0;
}

static bool is_total(const char *name)
{
	return ends_in(name, strlen(name), "_total");
}

/* The bytes of the family's name: that of a counter has no "_total" in OpenMetrics. */
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

/* Ends that samples of a family have: a name with one of them could be another's sample. */
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
		fault(b, row, "names are letters of a to z, digits and \"_\", a letter first");
	else if (strncmp(row->name, "h2d_", 4) == 0)
		fault(b, row, "\"h2d_\" begins those of the server itself");
	else if (row->bounds == NULL && !is_total(row->name))
		fault(b, row, "a counter's name ends in \"_total\"");
	else if (has_reserved_end(row))
		fault(b, row, "no name ends so: samples of others do");
}

static void check_alone(struct build *b, const struct metric_row *row)
{
	for (const struct metric_row *r = b->rows; r < row; r++)
		if (family(r) == family(row) && memcmp(r->name, row->name, family(row)) == 0) {
			fault(b, row, "%s:%d has it already", r->file, r->line);
			return;
		}
}

static void check_bounds(struct build *b, const struct metric_row *row)
{
	if (row->nbounds < 1 || row->nbounds > HANDLER_COUNTS_BOUNDS)
		fault(b, row, "it has %u upper bounds, and 1 to %d are possible", row->nbounds,
			HANDLER_COUNTS_BOUNDS);
	for (unsigned i = 0; i < row->nbounds; i++)
		if (!isfinite(row->bounds[i]) ||
			row->bounds[i] <= (i > 0 ? row->bounds[i - 1] : 0)) {
			fault(b, row, "its upper bounds are above 0 and rise");
			return;
		}
}

static void check(struct build *b, const struct metric_row *row)
{
	check_name(b, row);
	check_alone(b, row);
	if (row->help == NULL || row->help[0] == '\0' || strchr(row->help, '\n') != NULL)
		fault(b, row, "it has no help of one line");
	if (row->bounds != NULL)
		check_bounds(b, row);
	if (row == b->rows + HANDLER_COUNTS_ROWS)
		fault(b, row, "there is room for %d metrics", HANDLER_COUNTS_ROWS);
}

/* --- the table -------------------------------------------------------------------------------- */

static void write_string(const char *s, FILE *out)
{
	putc('"', out);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\' || *s == '?')
			putc('\\', out);
		putc(*s, out);
	}
	putc('"', out);
}

static void write_row(const struct metric_row *row, FILE *out)
{
	fprintf(out, "\t{ .handler = \"%s\", .name = \"%s\", .help = ", row->handler, row->name);
	write_string(row->help, out);
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
	struct build b = { .rows = rows, .n = n, .err = err };

	for (unsigned i = 0; i < n; i++)
		check(&b, &rows[i]);
	if (!b.failed)
		write_table(&b, out);
	return b.failed ? -1 : 0;
}
