/*
 * board_read: the scoreboard, read as of one moment by who adds living slots to what is retired. A
 * process that is retired while that is done would be counted twice, or not at all.
 */
#ifndef H2D_BOARD_BOARD_READ_H
#define H2D_BOARD_BOARD_READ_H

#include "board/board.h"

/* Reads all that it wants into to, from the beginning each time. */
typedef void board_read_fn(const struct board *b, void *to);

/*
 * Has it read, and read again while a process was retired meanwhile; so many times at most, for a
 * master that died in the middle of a retirement ends it never.
 */
void board_read(const struct board *b, unsigned tries, board_read_fn *read, void *to);

#endif
