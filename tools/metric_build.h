/*
 * metric_build: from the rows of the metrics.def of handlers to the table of their metrics, as C,
 * with the line of every fault. Runs at build time in the generator, and in tests; never in the
 * server.
 */
#pragma once

#include <stdio.h>

/* COUNTER(handler, name, help) or HISTOGRAM(handler, name, help, bounds …), unchanged. */
struct metric_row {
	const char *file; /* its place */
	int line;
	const char *handler, *name, *help;
	const double *bounds; /* NULL: a counter */
	unsigned nbounds;
};

/* Writes the table of n rows to out. 0, or -1 with a line "FILE:LINE: …" on err for every fault. */
int metric_build(const struct metric_row *rows, unsigned n, FILE *out, FILE *err);
