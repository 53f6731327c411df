/*
 * agent: what an agent-check of HAProxy is told: which share of its weight this machine can bear
 * now. Made from the scoreboard, by whichever worker is asked.
 */
#ifndef H2D_BOARD_AGENT_H
#define H2D_BOARD_AGENT_H

#include "board/board_health.h"

enum { AGENT_TEXT = 64 };

/*
 * Percent of the weight, 1 to 100, or 0: no new requests. connections: worker-connections; now:
 * clock_ms().
 */
unsigned agent_percent(const struct board *b, uint64_t connections, uint64_t now);

/* "up 75%\n", and for people behind "#" why it is 0. Returns its length, without the NUL. */
unsigned agent_text(
	const struct board *b, uint64_t connections, uint64_t now, char buf[AGENT_TEXT]);

#endif
