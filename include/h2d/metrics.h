/*
 * h2d/metrics.h: counters and histograms of handlers' own, among the server's at /metrics and in
 * /status.json. Included by h2d/handler.h.
 */
#ifndef H2D_METRICS_H
#define H2D_METRICS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_worker;

/*
 * Each metric is a row of the metrics.def beside routes.def, up to 64 of them in a server:
 *
 *     COUNTER(kv, "kv_hits_total", "keys that were found")
 *     HISTOGRAM(kv, "kv_query_seconds", "time of a query", 0.001, 0.01, 0.1, 1)
 *
 * with the handler whose calls count in it, and a histogram's upper bounds, up to 14. What is shown
 * is summed over all workers, those that have ended too; it begins anew with the master. A name
 * that metrics.def has not, or that is of another handler or kind, is a mistake of the handler and
 * ends the worker. name ends in NUL.
 */

/* Adds n to a counter. */
void h2d_count(struct h2d_worker *worker, const char *name, uint64_t n);

/* Adds a value to a histogram, in the metric's unit: seconds say. What is below 0, or no finite
 * number, counts as 0. */
void h2d_observe(struct h2d_worker *worker, const char *name, double value);

#ifdef __cplusplus
}
#endif

#endif
