/*
 * last_lines: fills the ring of the last warnings and errors on the scoreboard: with the master's
 * own lines as they are logged, and with those that its children tell it (CTL_LINE).
 */
#ifndef H2D_MASTER_LAST_LINES_H
#define H2D_MASTER_LAST_LINES_H

#include "board/board.h"
#include "master/child.h"

/* From now on the master's own lines go there. */
void last_lines_begin(struct board_lines *ring);
void last_lines_end(void);

/* c has said that it logged a line. */
void last_lines_said(struct board_lines *ring, const struct child *c, const struct ctl_msg *msg);

#endif
