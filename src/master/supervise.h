/*
 * supervise: what the reports about processes mean for their generation: that all are up puts it
 * into service, a death before that fails the reload, a later one starts another process, and the
 * last death of a generation that drains ends it. All of that is decided here and nowhere else.
 */
#ifndef H2D_MASTER_SUPERVISE_H
#define H2D_MASTER_SUPERVISE_H

#include "board/board.h"
#include "master/child.h"

extern const struct child_ops supervise_ops;

/* From now on the last warnings and errors, of the master as of its processes, go there. */
void supervise_lines(struct board_lines *ring);
void supervise_no_lines(void);

#endif
