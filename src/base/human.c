/* human: formats bytes with two or three digits; see human.h. */
#include "base/human.h"

#include <inttypes.h>
#include <stdio.h>

const char *human_size(char *buf, uint64_t n, const char *of_1024)
{
	const uint64_t next = 1024 * 1024 - 512; /* rounded to 1024 from here on */
	const char *unit = "KMGTPE";
	uint64_t tenths;

	if (n < 1024) {
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " B", n);
		return buf;
	}
	for (; n >= next; n >>= 10)
		unit++;
	tenths = (n * 10 + 512) / 1024;
	if (tenths < 100)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 ".%" PRIu64 " %c%s", tenths / 10, tenths % 10,
			*unit, of_1024);
	else
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 " %c%s", (n + 512) / 1024, *unit, of_1024);
	return buf;
}

const char *human_bytes(char *buf, uint64_t n)
{
	return human_size(buf, n, "iB");
}
