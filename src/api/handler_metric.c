/*
 * handler_metric: counters and histograms of a handler's own. Called by handlers; where they are
 * counted is base/handler_counts.h's business.
 */
#include <stdio.h>

#include "api/handler_worker.h"
#include "base/handler_counts.h"

enum { TEXT_MAX = 512 };

/* The row, which is one of the handler's and of that kind. */
static const struct handler_metric *row_of(
	const struct h2d_worker *w, const char *name, bool histogram, const char *call)
{
	const struct handler_metric *row = handler_counts_row(handler_worker_section(w), name);
	char text[TEXT_MAX];

	if (row != NULL && (row->bounds != NULL) == histogram)
		return row;
	snprintf(text, sizeof(text),
		"handler %s asked for the %s \"%.64s\", which metrics.def has not for %s (%s)",
		w->handler->name, histogram ? "histogram" : "counter", name,
		handler_worker_section(w), call);
	assert_end(text);
}

void h2d_count(struct h2d_worker *worker, const char *name, uint64_t n)
{
	HANDLER_CALL();
	handler_counts_count(row_of(worker, name, false, __func__), (double)n);
}

void h2d_observe(struct h2d_worker *worker, const char *name, double value)
{
	HANDLER_CALL();
	handler_counts_observe(row_of(worker, name, true, __func__), value);
}
