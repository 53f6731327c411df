/* board_unit: a scoreboard for each test of a program that includes this. */
#pragma once

#include "board/board.h"
#include "unit.h"

static struct board *board;

UNIT_SETUP(board_begin)
{
	board = board_new();
	ck_assert_ptr_nonnull(board);
}

UNIT_TEARDOWN(board_end)
{
	board_free(&board);
	ck_assert_ptr_null(board);
}
