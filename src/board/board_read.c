/*
 * board_read: has the scoreboard read again when a process was retired meanwhile. Called by who
 * writes it down, for /status, /status.json and /metrics; never writes to the board, never waits.
 */
#include "board/board_read.h"

static uint32_t begin(const struct board *b)
{
	return __atomic_load_n(&b->head.retirements, __ATOMIC_ACQUIRE);
}

/* Odd: in the middle of one. */
static bool retired_since(const struct board *b, uint32_t begun)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return begun % 2 != 0 || BOARD_LOAD(b->head.retirements) != begun;
}

void board_read(const struct board *b, unsigned tries, board_read_fn *read, void *to)
{
	uint32_t begun;

	for (unsigned i = 0; i < tries; i++) {
		begun = begin(b);
		read(b, to);
		if (!retired_since(b, begun))
			break;
	}
}
