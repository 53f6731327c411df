/*
 * status_json: the scoreboard as JSON, the body of /status.json. Its rows are those of
 * counters.def, cache_facts.def and board_state.def. A worker calls it when it is asked for that
 * page.
 */
#ifndef H2D_BOARD_STATUS_JSON_H
#define H2D_BOARD_STATUS_JSON_H

#include "base/strbuf.h"
#include "board/board.h"

/* Makes the text: t is empty before, and failed when memory is out. */
void status_json(const struct board *b, struct strbuf *t);

#endif
