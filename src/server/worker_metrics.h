/* worker_metrics: what a worker answers with for /metrics. */
#ifndef H2D_SERVER_WORKER_METRICS_H
#define H2D_SERVER_WORKER_METRICS_H

#include "request/req.h"

/* For http_env.metrics, whose owner is the worker. */
struct slice worker_metrics(struct http_env *env, struct arena *a, bool open);

#endif
