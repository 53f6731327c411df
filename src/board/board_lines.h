/*
 * board_lines: the last warnings and errors of all processes, a ring in the master's part of the
 * scoreboard. The master alone adds lines; a worker that is asked for the status copies them out.
 */
#ifndef H2D_BOARD_BOARD_LINES_H
#define H2D_BOARD_BOARD_LINES_H

#include <stdbool.h>
#include <stdint.h>

enum { BOARD_LINES = 16, BOARD_LINE_TEXT = 256 };

struct board_line {
	uint32_t number; /* from 1 on; 0: it is being written, or was never */
	uint32_t level;  /* enum log_level */
	uint64_t ms;     /* wall clock */
	int32_t pid;
	char who[32];               /* "worker 3" */
	char text[BOARD_LINE_TEXT]; /* ends in NUL; any bytes, for peers have a say in it */
};

struct board_lines {
	struct board_line v[BOARD_LINES];
	uint32_t n; /* lines ever */
};

/* Adds a line, in place of the oldest; its number is set here. */
void board_lines_add(struct board_lines *ring, const struct board_line *line);

/*
 * Copies the i-th newest line (0 up to BOARD_LINES - 1) to out; false if there is none, or it is
 * being replaced.
 */
bool board_lines_get(const struct board_lines *ring, unsigned i, struct board_line *out);

#endif
