/*
 * row_gen: writes faults and strings of C, for key_build, metric_build and route_build. Opens no
 * file.
 */
#include "tools/row_gen.h"

#include <stdarg.h>

bool row_fault(struct row_faults *faults, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(faults->err, "%s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(faults->err, fmt, ap);
	va_end(ap);
	putc('\n', faults->err);
	faults->any = true;
	return false;
}

void row_write_string(const char *s, FILE *out)
{
	if (s == NULL) {
		fputs("NULL", out);
		return;
	}
	putc('"', out);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\' || *s == '?')
			putc('\\', out);
		putc(*s, out);
	}
	putc('"', out);
}
