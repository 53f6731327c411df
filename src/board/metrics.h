/*
 * metrics: the scoreboard as metrics, the content of /metrics. Its rows are those of counters.def,
 * board_counts.def, cache_facts.def and board_state.def, the histograms of route_times,
 * and what handlers count by rows of their own (base/handler_counts.h). A worker calls it when it
 * is asked for that page.
 */
#ifndef H2D_BOARD_METRICS_H
#define H2D_BOARD_METRICS_H

#include "board/board.h"
#include "board/metrics_out.h"

/* Facts that the board does not say. */
struct metrics_facts {
	const struct route_table *routes;
	const struct sites *sites;
	bool keeper_ticks; /* the image of the worker that answers is kept fresh */
};

/* Makes the text: t is empty before, and failed when memory is out. */
void metrics_text(const struct board *b, const struct metrics_facts *facts, enum metrics_form form,
	struct strbuf *t);

#endif
