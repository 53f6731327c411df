/*
 * states: the end of a process that took a step which its table has not. Called by STATES_STEP()
 * alone.
 */
#include "base/states.h"

#include <stdio.h>

#include "base/assert.h"

void states_fail(const struct states *table, unsigned from, unsigned to, const char *file, int line,
	const char *func)
{
	char text[100];

	snprintf(text, sizeof(text), "%s: no step %s -> %s", table->of, states_name(table, from),
		states_name(table, to));
	assert_fail(text, file, line, func);
}
