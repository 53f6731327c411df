/* human: two or three digits say enough of what is not counted one by one; see human.h. */
#include "base/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *human_count(char *buf, uint64_t n, const char *gap)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			at += (size_t)snprintf(buf + at, HUMAN_SIZE - at, "%s", gap);
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *human_bytes(char *buf, uint64_t n)
{
	static const char units[] = "KMGTPE";
	const uint64_t next = 1024 * 1024 - 512; /* from here on it would be rounded to 1024 */
	unsigned unit = 0;
	uint64_t tenths;

	if (n < 1024) {
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " B", n);
		return buf;
	}
	for (; n >= next; n >>= 10)
		unit++;
	tenths = (n * 10 + 512) / 1024;
	if (tenths < 100)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 ".%" PRIu64 " %ciB", tenths / 10, tenths % 10,
			units[unit]);
	else
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " %ciB", (n + 512) / 1024, units[unit]);
	return buf;
}

const char *human_seconds(char *buf, uint64_t s)
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

const char *human_us(char *buf, double us)
{
	if (us >= 999500)
		snprintf(buf, HUMAN_SIZE, "%.2f s", us / 1e6);
	else
		snprintf(buf, HUMAN_SIZE, "%.*f ms", us < 9995 ? 2 : us < 99950 ? 1 : 0, us / 1e3);
	return buf;
}
