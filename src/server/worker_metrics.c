/*
 * worker_metrics: gives the metrics what only the worker knows. Called by the request core, for the
 * handler of /metrics.
 */
#include "server/worker_metrics.h"

#include "board/metrics.h"
#include "server/worker_state.h"

struct slice worker_metrics(struct http_env *env, struct arena *a, bool open)
{
	const struct worker *w = env->owner;
	const struct metrics_facts facts = {
		.routes = env->routes,
		.keeper_ticks = files_image_fresh(w->files),
	};

	return metrics_text(w->args->board, &facts, open ? METRICS_OPEN : METRICS_TEXT, a);
}
