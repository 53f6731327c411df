/* assert: writes the crash report and the called handler; allocates nothing. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/crash.h"
#include "base/log.h"

enum { TEXT_MAX = 1024 };

static char *words;
static size_t words_size;

void assert_last_words_to(char *buf, size_t size)
{
	words = buf;
	words_size = buf != NULL ? size : 0;
}

void assert_end(const char *text)
{
	if (words_size > 0)
		snprintf(words, words_size, "%s", text);
	log_write(LEVEL_ALERT, "%s", text);
	abort();
}

void assert_fail(const char *what, const char *file, int line, const char *func)
{
	char text[TEXT_MAX];
	int n = snprintf(
		text, sizeof(text), "assertion failed: %s (%s, %s:%d)", what, func, file, line);

	if (n > 0 && n < TEXT_MAX)
		crash_tell(text, (size_t)n, sizeof(text));
	assert_end(text);
}
