/*
 * states: ends a process that took an illegal step, and prints sets of flags. It has no state.
 */
#include "base/states.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

void states_fail(const struct states *table, unsigned from, unsigned to, const char *file, int line,
	const char *func)
{
	char text[100];

	snprintf(text, sizeof(text), "%s: no step %s -> %s", table->of, states_name(table, from),
		states_name(table, to));
	assert_fail(text, file, line, func);
}

const char *flags_text(const char *const *names, unsigned set, char buf[FLAGS_TEXT])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; names[i] != NULL && n < FLAGS_TEXT - 1; i++)
		if (set >> i & 1) {
			snprintf(buf + n, FLAGS_TEXT - n, "%s%s", n > 0 ? ", " : "", names[i]);
			n += strlen(buf + n);
		}
	return buf;
}
