/*
 * fuzz_forwarded: any value, read from its end to its beginning. It comes to an end, an element is
 * an IP address or none, and an element that a proxy adds is read first, whatever is in front.
 */
#include "base/assert.h"
#include "driver.h"
#include "http/forwarded.h"

static void walk(bool (*last)(struct slice *, struct forwarded *), struct slice value)
{
	struct forwarded f;
	size_t before = value.n;

	while (last(&value, &f)) {
		int family = f.from.sa.sa_family;

		H2D_ASSERT(value.n < before);
		H2D_ASSERT(family == AF_INET || family == AF_INET6 || family == AF_UNSPEC);
		before = value.n;
	}
	H2D_ASSERT(value.n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char added[] = ",for=\"192.0.2.1:80\"";
	char *text = malloc(size + sizeof(added));
	struct slice value;
	struct forwarded f;

	H2D_ASSERT(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	memcpy(text + size, added, sizeof(added));
	walk(forwarded_last, slice_of(data, size));
	walk(forwarded_last_x, slice_of(data, size));
	forwarded_is_https(slice_of(data, size));
	value = slice_of(text, size + sizeof(added) - 1);
	H2D_ASSERT(forwarded_last(&value, &f) && value.n == size);
	H2D_ASSERT(f.from.sa.sa_family == AF_INET);
	free(text);
	return 0;
}
