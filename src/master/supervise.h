/*
 * supervise: decides what reports about processes mean for their generation: when all are up it
 * serves, a death before that fails the reload, a later one starts another process.
 */
#pragma once

#include "board/board.h"
#include "master/child.h"

extern const struct child_ops supervise_ops;

/* Puts the last warnings and errors, of the master and its processes, into ring; NULL: no more. */
void supervise_lines(struct board_lines *ring);
