/*
 * fuzz_addr: whatever addr_parse takes, addr_format gives back in a form that parses to the same; a
 * range that addr_range_parse takes contains the address that it is written with.
 */
#include "base/addr.h"
#include "base/assert.h"
#include "driver.h"

static void range(const char *in)
{
	struct addr_range r;
	struct addr a;
	struct slice host = slice_of(in, strcspn(in, "/"));

	if (addr_range_parse(in, &r) != NULL)
		return;
	H2D_ASSERT(r.bits <= ADDR_RANGE_BITS);
	if (addr_parse_host(AF_INET, host, &a))
		H2D_ASSERT(r.bits >= 96 && addr_range_contains(&r, &a));
	else if (addr_parse_host(AF_INET6, host, &a) && !IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr))
		H2D_ASSERT(addr_range_contains(&r, &a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char in[256], out[ADDR_TEXT], again[ADDR_TEXT];
	struct addr a, b;

	if (size >= sizeof(in))
		size = sizeof(in) - 1;
	memcpy(in, data, size);
	in[size] = '\0';
	range(in);
	if (addr_parse(in, &a) != NULL)
		return 0;
	addr_format(&a, out, sizeof(out));
	H2D_ASSERT(addr_parse(out, &b) == NULL);
	H2D_ASSERT(addr_equal(&a, &b));
	addr_format(&b, again, sizeof(again));
	H2D_ASSERT(strcmp(out, again) == 0);
	H2D_ASSERT(ADDR_HOST(&a)[0] != '\0');
	return 0;
}
