/*
 * flags: the printer of sets of flags. Called by who shows them, with the names that the .def file
 * of the set gives.
 */
#include "base/flags.h"

#include <stdio.h>
#include <string.h>

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
