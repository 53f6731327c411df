/*
 * fuzz_auth_basic: the value of an authorization field. What is taken encodes to what was there:
 * there is one way to write it (RFC 4648, 3.5), and nothing in it is a control byte.
 */
#include "driver.h"
#include "http/auth_basic.h"

static void encode(const struct auth_basic *b, size_t n, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)b->bytes;

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)p[i] << 16;

		if (i + 1 < n)
			v |= (unsigned)p[i + 1] << 8;
		if (i + 2 < n)
			v |= p[i + 2];
		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*out++ = i + 2 < n ? digits[v & 63] : '=';
	}
	*out = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char again[2 * AUTH_BASIC_MAX];
	struct slice value = slice_of(data, size);
	struct auth_basic b;
	size_t n;

	if (!auth_basic_parse(value, &b)) {
		if (b.user.n + b.password.n != 0)
			abort();
		return 0;
	}
	n = b.user.n + 1 + b.password.n;
	if (n > AUTH_BASIC_MAX || b.bytes[n] != '\0' || b.bytes[b.user.n] != '\0')
		abort();
	b.bytes[b.user.n] = ':';
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)b.bytes[i] < 0x20 || b.bytes[i] == 0x7f)
			abort();
	encode(&b, n, again);
	if (!slice_ends(value, slice_str(again)))
		abort();
	return 0;
}
