/* human: formats bytes with two or three digits; see human.h. */
#include "base/human.h"

#include <inttypes.h>
#include <stdio.h>

const char *human_bytes(char *buf, uint64_t n)
{
	static const char units[] = "KMGTPE";
	const uint64_t next = 1024 * 1024 - 512; /* rounded to 1024 from here on */
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
