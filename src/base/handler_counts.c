/*
 * handler_counts: the block in which this process counts, and sums of such blocks. Called by
 * handlers' calls, by the scoreboard and by its readers. Numbers are doubles, as in Prometheus.
 */
#include "base/handler_counts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* Replaced in a program whose handlers have metrics. */
__attribute__((weak)) const struct handler_metrics handler_metrics = { .n = 0 };

static struct handler_counts private_block;
static struct handler_counts *block = &private_block;

void handler_counts_to(struct handler_counts *to)
{
	block = to;
}

const struct handler_metric *handler_counts_row(const char *handler, const char *name)
{
	for (unsigned i = 0; i < handler_metrics.n; i++) {
		const struct handler_metric *row = &handler_metrics.rows[i];

		if (strcmp(row->name, name) == 0)
			return strcmp(row->handler, handler) == 0 ? row : NULL;
	}
	return NULL;
}

static double countable(double n)
{
	return isfinite(n) && n > 0 ? n : 0;
}

static void add(double *cell, double n)
{
	double sum = *cell + n;

	__atomic_store(cell, &sum, __ATOMIC_RELAXED);
}

static struct handler_count *count_of(const struct handler_metric *row)
{
	return &block->v[row - handler_metrics.rows];
}

void handler_counts_count(const struct handler_metric *row, double n)
{
	H2D_ASSERT(row->bounds == NULL);
	add(&count_of(row)->sum, n);
}

void handler_counts_observe(const struct handler_metric *row, double value)
{
	struct handler_count *count = count_of(row);
	int i = 0;

	H2D_ASSERT(row->bounds != NULL);
	value = countable(value);
	while (i < row->nbounds && value > row->bounds[i])
		i++;
	add(&count->sum, value);
	add(&count->buckets[i], 1);
}

void handler_counts_add(struct handler_counts *sum, const struct handler_counts *from)
{
	const double *in = (const double *)from;
	double *out = (double *)sum, n;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*out); i++) {
		__atomic_load(&in[i], &n, __ATOMIC_RELAXED);
		n = countable(n);
		if (n > 0)
			add(&out[i], n);
	}
}

double handler_counts_values(const struct handler_metric *row, const struct handler_count *count)
{
	double n = 0;

	for (int i = 0; i <= row->nbounds; i++)
		n += count->buckets[i];
	return n;
}

const char *handler_counts_text(char buf[32], double n)
{
	int digits = 15;

	do
		snprintf(buf, 32, "%.*g", digits, n);
	while (strtod(buf, NULL) != n && ++digits <= 17);
	return buf;
}
