/*
 * status_json: the scoreboard as JSON, the body of /status.json. Its rows are those of
 * counters.def, cache_facts.def and board_state.def. A worker calls it when it is asked for that
 * page.
 */
#ifndef H2D_BOARD_STATUS_JSON_H
#define H2D_BOARD_STATUS_JSON_H

#include "base/arena.h"
#include "board/board.h"

/* The text, in a; p NULL when memory is out or a is spent. */
struct slice status_json(const struct board *b, struct arena *a);

#endif
