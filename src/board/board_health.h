/*
 * board_health: whether a load balancer may send requests here, and why not. The master decides,
 * and writes it into the scoreboard's head, where every worker sees it at once.
 */
#ifndef H2D_BOARD_BOARD_HEALTH_H
#define H2D_BOARD_BOARD_HEALTH_H

#include "base/flags.h"
#include "board/board.h"

enum board_health {
#define BOARD_HEALTH(name, word, text) FLAGS_BIT(BOARD_HEALTH_##name),
#include "board/board_health.def"
	BOARD_HEALTH_FACTS
};

/* The word of each, NULL behind the last. */
extern const char *const board_health_words[];

/* The facts that hold: bit set of enum board_health; 0: it is healthy. */
static inline uint32_t board_health(const struct board *b)
{
	return BOARD_LOAD(b->head.health);
}

#endif
