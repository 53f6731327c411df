/*
 * handler_counts: handlers' own metrics, rows of the metrics.def of their directories. One writer
 * (the worker's loop thread), read by others out of shared memory as hostile data. Until
 * handler_counts_to() is called they are in a block private to the process.
 */
#pragma once

#include <stdbool.h>

enum { HANDLER_COUNTS_ROWS = 64, HANDLER_COUNTS_BOUNDS = 14 };

struct handler_metric {
	const char *handler, *name, *help;
	const double *bounds; /* of the buckets, rising; NULL: a counter */
	int nbounds;
};

/* Made by key_gen for a program whose handlers have metrics. */
struct handler_metrics {
	const struct handler_metric *rows;
	unsigned n;
};
extern const struct handler_metrics handler_metrics;

/* By row. A bucket counts values of at most its bound that are above the one before. */
struct handler_counts {
	struct handler_count {
		double sum; /* for a counter the only value */
		double buckets[HANDLER_COUNTS_BOUNDS + 1];
	} v[HANDLER_COUNTS_ROWS];
};

/* Makes block (shared memory, zeroed by the caller) the counts of this process. */
void handler_counts_to(struct handler_counts *block);

/* The row of that name; NULL: the handler has none. */
const struct handler_metric *handler_counts_row(const char *handler, const char *name);
void handler_counts_count(const struct handler_metric *row, double n);

/* Adds a value to a histogram; a negative or infinite one, or no number, counts as 0. */
void handler_counts_observe(const struct handler_metric *row, double value);

/* Adds the values of from, reading each cell once; a negative or infinite one, or no number, counts
 * as 0. */
void handler_counts_add(struct handler_counts *sum, const struct handler_counts *from);

/* Formats n for JSON and metrics: the shortest text that reads as n again. */
const char *handler_counts_text(char buf[32], double n);

/* The number of values of a histogram, of the caller's own copy. */
double handler_counts_values(const struct handler_metric *row, const struct handler_count *count);
