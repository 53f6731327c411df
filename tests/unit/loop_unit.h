/* loop_unit: a loop for each test of a program that includes this. */
#pragma once

#include "event/loop.h"
#include "unit.h"

static struct loop loop;

UNIT_SETUP(loop_begin)
{
	ck_assert_int_eq(loop_init(&loop), 0);
}

UNIT_TEARDOWN(loop_end)
{
	loop_fini(&loop);
}
