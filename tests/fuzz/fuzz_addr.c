/*
 * fuzz_addr: whatever addr_parse takes, addr_format gives back in a form that parses to the same.
 */
#include "base/assert.h"
#include "net/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char in[256], out[ADDR_TEXT], again[ADDR_TEXT];
	struct addr a, b;

	if (size >= sizeof(in))
		size = sizeof(in) - 1;
	memcpy(in, data, size);
	in[size] = '\0';
	if (addr_parse(in, &a) != NULL)
		return 0;
	addr_format(&a, out, sizeof(out));
	H2D_ASSERT(addr_parse(out, &b) == NULL);
	H2D_ASSERT(addr_equal(&a, &b));
	addr_format(&b, again, sizeof(again));
	H2D_ASSERT(strcmp(out, again) == 0);
	addr_format_host(&a, out, sizeof(out));
	H2D_ASSERT(out[0] != '\0');
	return 0;
}
