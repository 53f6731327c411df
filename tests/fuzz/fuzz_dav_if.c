/*
 * fuzz_dav_if: a header If. What holds has a list; nothing about another resource holds.
 */
#include "driver.h"
#include "http/dav_if.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice value = slice_of(data, size), rest = value, etag = SLICE("\"abc\"");

	if (dav_if_holds(value, SLICE("/files/a"), etag) && memchr(data, '(', size) == NULL)
		abort();
	slice_skip_any(&rest, " \t");
	if (slice_starts(rest, SLICE("<")) && dav_if_holds(value, SLICE("/>"), etag))
		abort();
	return 0;
}
