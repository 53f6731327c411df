/*
 * board_health: tells load balancers if they may send requests here, and why not. The master
 * decides, and writes it into the scoreboard's head, where every worker sees it at once.
 */
#pragma once

#include "base/states.h"
#include "board/board.h"

enum board_health {
#define BOARD_HEALTH(name, word, text) FLAGS_BIT(BOARD_HEALTH_##name),
#include "board/board_health.def"
	BOARD_HEALTH_FACTS
};

/* The word of each, NULL after the last. */
extern const char *const board_health_words[];

/* The present facts: bit set of enum board_health; 0: healthy. */
static inline uint32_t board_health(const struct board *b)
{
	return BOARD_LOAD(b->head.health);
}

/* --- HAProxy's agent-check ------------------------------------------------------------------- */

enum { AGENT_TEXT = 64 };

/*
 * Percent of the weight, 1 to 100, or 0: no new requests. connections: worker-connections; now:
 * clock_ms().
 */
unsigned agent_percent(const struct board *b, uint64_t connections, uint64_t now);

/* "up 75%\n", and for people after "#" why it is 0. Returns its length, without the NUL. */
unsigned agent_text(
	const struct board *b, uint64_t connections, uint64_t now, char buf[AGENT_TEXT]);
