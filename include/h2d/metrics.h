/*
 * h2d/metrics.h: a handler's own counters and histograms, which appear at /metrics and in
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
 * Each metric is a row of metrics.def, in the directory of routes.def. A server has up to 64:
 *
 *     COUNTER(kv, "kv_hits_total", "keys that were found")
 *     HISTOGRAM(kv, "kv_query_seconds", "time of a query", 0.001, 0.01, 0.1, 1)
 *
 * The first item is the handler that may count it; a histogram has up to 14 upper bounds. Values
 * are sums over all workers, including workers that have exited, and begin at 0 when the master
 * starts. A name that metrics.def does not have for this handler and this kind is a mistake that
 * ends the worker.
 */

/* Adds n to a counter. */
void h2d_count(struct h2d_worker *worker, const char *name, uint64_t n);

/* Adds a value to a histogram, in the unit of the metric, such as seconds. A value that is negative
 * or not finite counts as 0. */
void h2d_observe(struct h2d_worker *worker, const char *name, double value);

#ifdef __cplusplus
}
#endif

#endif
