/* metrics_out: writes families and samples of both formats; times are microseconds. */
#include "board/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *prefix(const struct metrics_out *o)
{
	return o->of_handlers ? "" : "h2d_";
}

/* Both formats: these three are escaped, all else is UTF-8 unchanged. */
static void put_escaped(struct strbuf *t, struct slice s, bool quotes)
{
	for (size_t i = 0; i < s.n; i++) {
		const char *more = s.p[i] == '\\'            ? "\\\\"
				   : s.p[i] == '\n'          ? "\\n"
				   : s.p[i] == '"' && quotes ? "\\\""
							     : NULL;

		strbuf_add(t, more != NULL ? slice_str(more) : slice_of(s.p + i, 1));
	}
}

static void put_unit(struct metrics_out *o)
{
	const char *end = strrchr(o->name, '_');

	if (end != NULL && (strcmp(end, "_seconds") == 0 || strcmp(end, "_bytes") == 0))
		strbuf_printf(&o->t, "# UNIT %s%s %s\n", prefix(o), o->name, end + 1);
}

/* The suffix of the family's name in its samples and, in the older format, in its head. */
static const char *metrics_out_behind(const struct metrics_out *o)
{
	return o->type == METRICS_COUNTER ? "_total" : o->type == METRICS_INFO ? "_info" : "";
}

void metrics_family(
	struct metrics_out *o, enum metrics_type type, const char *name, const char *help)
{
	static const char *const types[] = { "gauge", "counter", "histogram", "info" };
	bool open = o->form == METRICS_OPEN;
	const char *end;

	o->type = type;
	o->name = name;
	end = open ? "" : metrics_out_behind(o);
	strbuf_printf(&o->t, "# TYPE %s%s%s %s\n", prefix(o), name, end,
		type == METRICS_INFO && !open ? "gauge" : types[type]);
	if (open)
		put_unit(o);
	strbuf_printf(&o->t, "# HELP %s%s%s ", prefix(o), name, end);
	put_escaped(&o->t, slice_str(help), open);
	strbuf_add(&o->t, SLICE("\n"));
}

/* A name and its labels; le: a bucket's upper bound, NULL: none. */
static void put_name(struct metrics_out *o, const char *end, const struct metrics_label *labels,
	unsigned nlabels, const char *le)
{
	const char *between = "{";

	strbuf_printf(&o->t, "%s%s%s", prefix(o), o->name, end);
	for (unsigned i = 0; i < nlabels; i++) {
		strbuf_printf(&o->t, "%s%s=\"", between, labels[i].name);
		put_escaped(&o->t, labels[i].value, true);
		strbuf_add(&o->t, SLICE("\""));
		between = ",";
	}
	if (le != NULL)
		strbuf_printf(&o->t, "%sle=\"%s\"", between, le);
	strbuf_add(&o->t, nlabels > 0 || le != NULL ? SLICE("} ") : SLICE(" "));
}

void metrics_sample(
	struct metrics_out *o, const struct metrics_label *labels, unsigned nlabels, int64_t value)
{
	put_name(o, metrics_out_behind(o), labels, nlabels, NULL);
	strbuf_printf(&o->t, "%" PRId64 "\n", value);
}

/* Seconds: "0.001", "2.5", "1.0": the form of bounds in OpenMetrics, used for all. */
static const char *seconds(char buf[32], int64_t us)
{
	uint64_t n = us > 0 ? (uint64_t)us : 0;
	int len = snprintf(buf, 32, "%" PRIu64 ".%06u", n / 1000000, (unsigned)(n % 1000000));

	while (buf[len - 1] == '0' && buf[len - 2] != '.')
		buf[--len] = '\0';
	return buf;
}

void metrics_histogram(struct metrics_out *o, const struct metrics_label *labels, unsigned nlabels,
	const struct metrics_buckets *b)
{
	uint64_t n = 0;
	char text[32];

	for (int i = 0; i <= b->nbounds; i++) {
		n += b->buckets[i] > 0 ? (uint64_t)b->buckets[i] : 0;
		put_name(o, "_bucket", labels, nlabels,
			i < b->nbounds ? seconds(text, b->bounds[i]) : "+Inf");
		strbuf_printf(&o->t, "%" PRIu64 "\n", n);
	}
	put_name(o, "_sum", labels, nlabels, NULL);
	strbuf_printf(&o->t, "%s\n", seconds(text, b->sum));
	put_name(o, "_count", labels, nlabels, NULL);
	strbuf_printf(&o->t, "%" PRIu64 "\n", n);
}

void metrics_number(struct metrics_out *o, double value)
{
	char text[32];

	put_name(o, metrics_out_behind(o), NULL, 0, NULL);
	strbuf_printf(&o->t, "%s\n", handler_counts_text(text, value));
}

/* "1.0": the form of bounds in OpenMetrics. */
static const char *bound(char buf[40], double n)
{
	handler_counts_text(buf, n);
	if (buf[strspn(buf, "0123456789")] == '\0')
		strcat(buf, ".0");
	return buf;
}

void metrics_numbers(
	struct metrics_out *o, const double *bounds, int nbounds, const struct handler_count *count)
{
	char text[40];
	double n = 0;

	for (int i = 0; i <= nbounds; i++) {
		n += count->buckets[i];
		put_name(o, "_bucket", NULL, 0, i < nbounds ? bound(text, bounds[i]) : "+Inf");
		strbuf_printf(&o->t, "%s\n", handler_counts_text(text, n));
	}
	put_name(o, "_sum", NULL, 0, NULL);
	strbuf_printf(&o->t, "%s\n", handler_counts_text(text, count->sum));
	put_name(o, "_count", NULL, 0, NULL);
	strbuf_printf(&o->t, "%s\n", handler_counts_text(text, n));
}

void metrics_end(struct metrics_out *o)
{
	if (o->form == METRICS_OPEN)
		strbuf_add(&o->t, SLICE("# EOF\n"));
}
