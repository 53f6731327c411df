/*
 * fuzz_proxy: any bytes at the beginning of a connection, as a whole and as more and more of them.
 * What is found does not depend on how much has come behind it, and never is longer than the bound.
 */
#include "base/assert.h"
#include "driver.h"
#include "net/proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy whole, part;
	enum proxy_result result = proxy_parse(slice_of(data, size), &whole), sooner;
	size_t n = 0;

	H2D_ASSERT(result != PROXY_MORE || size < PROXY_MAX);
	if (result == PROXY_WHOLE) {
		H2D_ASSERT(whole.length <= size && whole.length <= PROXY_MAX);
		H2D_ASSERT(whole.source != PROXY_CLIENT || ADDR_HOST(&whole.client)[0] != 'u');
	}
	while ((sooner = proxy_parse(slice_of(data, n), &part)) == PROXY_MORE && n < size)
		n++;
	H2D_ASSERT(sooner == result);
	if (result != PROXY_WHOLE)
		return 0;
	H2D_ASSERT(n == whole.length && part.length == n && part.source == whole.source);
	if (part.source == PROXY_CLIENT)
		H2D_ASSERT(addr_equal(&part.client, &whole.client));
	return 0;
}
