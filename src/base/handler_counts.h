/*
 * handler_counts: what handlers count by metrics of their own, rows of the metrics.def of their
 * folders. One writer (the worker's loop thread), read by others out of shared memory as hostile
 * data. Until handler_counts_to() is called they go to a block private to the process.
 */
#ifndef H2D_BASE_HANDLER_COUNTS_H
#define H2D_BASE_HANDLER_COUNTS_H

#include <stdbool.h>

enum { HANDLER_COUNTS_ROWS = 64, HANDLER_COUNTS_BOUNDS = 14 };

struct handler_metric {
	const char *handler, *name, *help;
	const double *bounds; /* of the buckets, rising; NULL: it is a counter */
	int nbounds;
};

/* A program whose handlers have metrics is linked with a table that key_gen made. */
struct handler_metrics {
	const struct handler_metric *rows;
	unsigned n;
};
extern const struct handler_metrics handler_metrics;

/* By row. A bucket counts what is at most its bound and above the one before. */
struct handler_counts {
	struct handler_count {
		double sum; /* of a counter all that there is */
		double buckets[HANDLER_COUNTS_BOUNDS + 1];
	} v[HANDLER_COUNTS_ROWS];
};

/* From now on this process counts in block (shared memory, zeroed by the caller). */
void handler_counts_to(struct handler_counts *block);

/* The row of that name; NULL: the handler has none. */
const struct handler_metric *handler_counts_row(const char *handler, const char *name);

/* Adds to a counter. */
void handler_counts_count(const struct handler_metric *row, double n);

/* Adds a value to a histogram; what is below 0, or no finite number, counts as 0. */
void handler_counts_observe(const struct handler_metric *row, double value);

/* Adds what from says, each cell read once; what is below 0, or no finite number, counts as 0. */
void handler_counts_add(struct handler_counts *sum, const struct handler_counts *from);

/* As a number of JSON and of metrics, the shortest that is read as n again. */
const char *handler_counts_text(char buf[32], double n);

/* Values of a histogram, a copy of the caller's own. */
double handler_counts_values(const struct handler_metric *row, const struct handler_count *count);

#endif
