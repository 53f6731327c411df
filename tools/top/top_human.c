/* top_human: two or three digits are enough for measured numbers. */
#include "tools/top/top_human.h"

#include <inttypes.h>
#include <stdio.h>

const char *top_human_count(char *buf, uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf[at++] = ' ';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *top_human_seconds(char *buf, uint64_t s)
{
	uint64_t min = s / 60, h = min / 60, d = h / 24;

	if (d > 0)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " d %" PRIu64 " h", d, h % 24);
	else if (h > 0)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " h %" PRIu64 " min", h, min % 60);
	else if (min > 0)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " min %" PRIu64 " s", min, s % 60);
	else
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " s", s);
	return buf;
}

const char *top_human_us(char *buf, double us)
{
	if (us >= 999500)
		snprintf(buf, HUMAN_SIZE, "%.2f s", us / 1e6);
	else
		snprintf(buf, HUMAN_SIZE, "%.*f ms", us < 9995 ? 2 : us < 99950 ? 1 : 0, us / 1e3);
	return buf;
}
