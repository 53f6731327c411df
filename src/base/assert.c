/*
 * assert: the end of a process that found a bug of its own. H2D_ASSERT calls it from every layer;
 * it writes the last words, allocates nothing and never returns.
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

static char *words;
static size_t words_size;

void assert_last_words_to(char *buf, size_t size)
{
	words = buf;
	words_size = buf != NULL ? size : 0;
}

void assert_fail(const char *what, const char *file, int line, const char *func)
{
	if (words_size > 0)
		snprintf(words, words_size, "assertion failed: %s (%s, %s:%d)", what, func, file,
			line);
	log_write(LEVEL_ALERT, "assertion failed: %s (%s, %s:%d)", what, func, file, line);
	abort();
}
