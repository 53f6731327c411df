/*
 * metrics: the content of /metrics: rows of counters.def, board_counts.def, cache_facts.def and
 * board_state.def, the histograms of route_times, and handlers' own metrics.
 */
#pragma once

#include "base/handler_counts.h"
#include "base/strbuf.h"
#include "board/board.h"

/*
 * metrics_out: the syntax of metrics: Prometheus' text format 0.0.4, and OpenMetrics 1.0.0.
 * Families in order, samples of each after its head; names get the prefix "h2d_", except handlers'
 * own; their ends give the units. board/metrics.c has the content.
 */

enum metrics_form { METRICS_TEXT, METRICS_OPEN };

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_HISTOGRAM, METRICS_INFO };

struct metrics_out {
	struct strbuf t;
	enum metrics_form form;
	enum metrics_type type; /* of the current family */
	const char *name;
	bool of_handlers; /* names have no prefix */
};

struct metrics_label {
	const char *name;
	struct slice value; /* any bytes */
};

/* Values in buckets, and their sum in microseconds. */
struct metrics_buckets {
	const int64_t *bounds, *buckets; /* nbounds, and one more */
	int nbounds;
	int64_t sum;
};

/* name: static, without the prefix "h2d_" and, for a counter, the suffix "_total". */
void metrics_family(
	struct metrics_out *o, enum metrics_type type, const char *name, const char *help);

void metrics_sample(
	struct metrics_out *o, const struct metrics_label *labels, unsigned nlabels, int64_t value);

/* Buckets below 0 count as empty. */
void metrics_histogram(struct metrics_out *o, const struct metrics_label *labels, unsigned nlabels,
	const struct metrics_buckets *b);

/* A sample without labels, and a histogram, of handlers. */
void metrics_number(struct metrics_out *o, double value);
void metrics_numbers(struct metrics_out *o, const double *bounds, int nbounds,
	const struct handler_count *count);

void metrics_end(struct metrics_out *o);

/* Facts that are not on the board. */
struct metrics_facts {
	const struct route_table *routes;
	const struct sites *sites;
	bool keeper_ticks; /* the answering worker's image is kept fresh */
};

/* Makes the text: t is empty before; failed when memory is out. */
void metrics_text(const struct board *b, const struct metrics_facts *facts, enum metrics_form form,
	struct strbuf *t);
