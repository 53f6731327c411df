/*
 * unit_pure: unit.h for tests of pure functions, which share one process: a fork costs more than
 * such a test, and under sanitizers a hundred times as much.
 */
#pragma once

#include "unit.h"

UNIT_STATEMENT(pure, unit_forks = CK_NOFORK)
