/*
 * check_proxy: PROXY headers of both versions, whole, byte by byte, with and without bytes behind
 * them; what is refused; sums and records.
 */
#include "net/proxy.h"

#include "unit_pure.h"

#define V2   "\r\n\r\n\0\r\nQUIT\n"
#define TCP4 V2 "\x21\x11\0\x0c" /* and 12 bytes */
#define A4   "\xc0\0\x02\x01\xc6\x33\x64\x01\xdb\x04\x01\xbb"
#define A6 \
	"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01" \
	"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\xdb\x04\x01\xbb"
#define ZERO_54 \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define ZERO_216 ZERO_54 ZERO_54 ZERO_54 ZERO_54

static const struct {
	struct slice bytes;
	const char *is; /* "itself", "untold", or the address; NULL: refused */
	bool tls;
} headers[] = {
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"), "192.0.2.1", false },
	{ SLICE_LIT("PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n"), "0.0.0.0", false },
	{ SLICE_LIT("PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n"), "2001:db8::1", false },
	{ SLICE_LIT("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n"), "192.0.2.1", false },
	{ SLICE_LIT("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
		    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ SLICE_LIT("PROXY UNKNOWN\r\n"), "untold", false },
	{ SLICE_LIT("PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
		    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
		"untold", false },

	{ SLICE_LIT("PROXY \r\n"), NULL, false },
	{ SLICE_LIT("PROXY\r\n"), NULL, false },
	{ SLICE_LIT("PROXY UNKNOWNx\r\n"), NULL, false },
	{ SLICE_LIT("PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY tcp4 192.0.2.1 198.51.100.1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 198.51.100.1 1\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 198.51.100.1 1 2 \r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4  192.0.2.1 198.51.100.1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 198.51.100.1 01 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 198.51.100.1 65536 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 198.51.100.1 +1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.256 198.51.100.1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 2001:db8::1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1\0x 198.51.100.1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP6 ::1 ::1\0 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 2001:db8::1 2001:db8::1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP6 192.0.2.1 192.0.2.1 1 2\r\n"), NULL, false },
	{ SLICE_LIT("PROXY TCP4 192.0.2.1 198.51.100.1 1 2\n\r\n"), NULL, false },
	{ SLICE_LIT("GET / HTTP/1.1\r\n"), NULL, false },
	{ SLICE_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), NULL, false },
	{ SLICE_LIT("\x16\x03\x01"), NULL, false },
	{ SLICE_LIT("\r\n\r\n\r\n"), NULL, false },
	{ SLICE_LIT("\0"), NULL, false },

	{ SLICE_LIT(TCP4 A4), "192.0.2.1", false },
	{ SLICE_LIT(V2 "\x21\x21\0\x24" A6), "2001:db8::1", false },
	{ SLICE_LIT(V2 "\x21\x31\0\xd8" ZERO_216), "untold", false },
	{ SLICE_LIT(V2 "\x21\x12\0\x0c" A4), "untold", false },
	{ SLICE_LIT(V2 "\x21\x00\0\0"), "untold", false },
	{ SLICE_LIT(V2 "\x21\x00\0\x02xx"), "untold", false },
	{ SLICE_LIT(V2 "\x20\x00\0\0"), "itself", false },
	/* What a header of LOCAL holds is to be ignored, malformed or not. */
	{ SLICE_LIT(V2 "\x20\xff\0\x03\x03\xff\xff"), "itself", false },
	{ SLICE_LIT(V2 "\x20\x11\0\x0c" A4), "itself", false },

	{ SLICE_LIT(V2 "\x22\x11\0\x0c" A4), NULL, false },
	{ SLICE_LIT(V2 "\x11\x11\0\x0c" A4), NULL, false },
	{ SLICE_LIT(V2 "\x31\x11\0\x0c" A4), NULL, false },
	{ SLICE_LIT(V2 "\x21\x41\0\x0c" A4), NULL, false },
	{ SLICE_LIT(V2 "\x21\x13\0\x0c" A4), NULL, false },
	{ SLICE_LIT(V2 "\x21\x11\0\x0b\xc0\0\x02\x01\xc6\x33\x64\x01\xdb\x04\x01"), NULL, false },
	{ SLICE_LIT(V2 "\x21\x21\0\x0c" A4), NULL, false },
	{ SLICE_LIT(V2 "\x21\x31\0\x0c" A4), NULL, false },
	{ SLICE_LIT(V2 "\x21\x11\x10\x01"), NULL, false },
	{ SLICE_LIT(V2 "\x20\x11\xff\xff"), NULL, false },

	/* Records: unknown ones, padding, the sum, TLS. */
	{ SLICE_LIT(V2 "\x21\x11\0\x12" A4 "\xea\0\x03"
		       "abc"),
		"192.0.2.1", false },
	{ SLICE_LIT(V2 "\x21\x11\0\x0f" A4 "\x04\0\0"), "192.0.2.1", false },
	{ SLICE_LIT(V2 "\x21\x11\0\x0e" A4 "\x04\0"), NULL, false },
	{ SLICE_LIT(V2 "\x21\x11\0\x10" A4 "\x04\0\x02x"), NULL, false },
	{ SLICE_LIT(V2 "\x21\x11\0\x14" A4 "\x20\0\x05\x01\0\0\0\0"), "192.0.2.1", true },
	{ SLICE_LIT(V2 "\x21\x11\0\x14" A4 "\x20\0\x05\x06\0\0\0\0"), "192.0.2.1", false },
	{ SLICE_LIT(V2 "\x21\x11\0\x0f" A4 "\x20\0\0"), "192.0.2.1", false },
	{ SLICE_LIT(V2 "\x21\x11\0\x13" A4 "\x03\0\x04\xd0\x13\x0c\x74"), NULL, false },
	{ SLICE_LIT(V2 "\x21\x11\0\x12" A4 "\x03\0\x03\xd0\x13\x0c"), NULL, false },
};
enum { N = sizeof(headers) / sizeof(headers[0]) };

/* Of just its size, so that a sanitizer sees the first byte read too far. */
static enum proxy_result parse(struct slice bytes, size_t n, struct proxy *p)
{
	char *copy = malloc(n);
	enum proxy_result result;

	if (n > 0)
		memcpy(copy, bytes.p, n);
	result = proxy_parse(slice_of(copy, n), p);
	free(copy);
	return result;
}

static void is(const struct proxy *p, const char *what, bool tls)
{
	static const char *const sources[] = { "itself", "untold" };

	if (p->source == PROXY_CLIENT)
		ck_assert_str_eq(ADDR_HOST(&p->client), what);
	else
		ck_assert_str_eq(sources[p->source], what);
	ck_assert_int_eq(p->tls, tls);
}

TEST_EACH(a_header, N)
{
	struct slice bytes = headers[_i].bytes;
	const char *what = headers[_i].is;
	struct proxy p;
	size_t n = 0;
	enum proxy_result result = PROXY_MORE;

	while (result == PROXY_MORE && n <= bytes.n)
		result = parse(bytes, n++, &p);
	ck_assert_int_eq(result, what != NULL ? PROXY_WHOLE : PROXY_BAD);
	if (what == NULL)
		return;
	ck_assert_uint_eq(n - 1, bytes.n);
	ck_assert_uint_eq(p.length, bytes.n);
	is(&p, what, headers[_i].tls);
}

/* What follows changes nothing: neither what is read nor where it ends. */
TEST_EACH(bytes_behind, N)
{
	static const char *const behind[] = { "\r\n", "PROXY ", "\x16\x03\x01", "\r\n\r\n" };
	struct slice bytes = headers[_i].bytes;
	char all[512];
	struct proxy p;

	memcpy(all, bytes.p, bytes.n);
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		size_t n = strlen(behind[i]);

		memcpy(all + bytes.n, behind[i], n);
		if (headers[_i].is == NULL) {
			ck_assert_int_eq(
				parse(slice_of(all, bytes.n + n), bytes.n + n, &p), PROXY_BAD);
			continue;
		}
		ck_assert_int_eq(parse(slice_of(all, bytes.n + n), bytes.n + n, &p), PROXY_WHOLE);
		ck_assert_uint_eq(p.length, bytes.n);
		is(&p, headers[_i].is, headers[_i].tls);
	}
}

/* A line without end is not waited for beyond what the longest one has. */
TEST(the_longest_line)
{
	char bytes[PROXY_LINE_MAX + 2];
	struct proxy p;

	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, "PROXY UNKNOWN ", 14);
	ck_assert_int_eq(parse(slice_of(bytes, 0), PROXY_LINE_MAX - 1, &p), PROXY_MORE);
	ck_assert_int_eq(parse(slice_of(bytes, 0), PROXY_LINE_MAX, &p), PROXY_BAD);
	memcpy(bytes + PROXY_LINE_MAX - 2, "\r\n", 2);
	ck_assert_int_eq(parse(slice_of(bytes, 0), PROXY_LINE_MAX, &p), PROXY_WHOLE);
	bytes[PROXY_LINE_MAX - 2] = 'x';
	memcpy(bytes + PROXY_LINE_MAX - 1, "\r\n", 2);
	ck_assert_int_eq(parse(slice_of(bytes, 0), PROXY_LINE_MAX + 1, &p), PROXY_BAD);
}

TEST(the_longest_binary)
{
	static char bytes[PROXY_MAX];
	struct proxy p;

	memcpy(bytes, V2 "\x21\x11\x10\x00" A4, 28);
	memcpy(bytes + 28, "\x04\x0f\xf1", 3);
	ck_assert_int_eq(parse(slice_of(bytes, 0), PROXY_MAX - 1, &p), PROXY_MORE);
	ck_assert_int_eq(parse(slice_of(bytes, 0), PROXY_MAX, &p), PROXY_WHOLE);
	ck_assert_uint_eq(p.length, PROXY_MAX);
}

/* Its sum is from another program, whose sum of "123456789" is that of RFC 3720, B.4. */
TEST(the_sum)
{
	char bytes[] = V2 "\x21\x11\0\x1a" A4 "\x03\0\x04\xcc\xa8\xa7\x25\x05\0\x04"
			  "uniq";
	size_t n = sizeof(bytes) - 1;
	struct proxy p;

	ck_assert_int_eq(parse(slice_of(bytes, 0), n, &p), PROXY_WHOLE);
	for (size_t i = 16; i < n; i++) {
		if (i == 28) /* the type of the record: without it there is no sum */
			continue;
		bytes[i] ^= 0x40;
		ck_assert_int_eq(parse(slice_of(bytes, 0), n, &p), PROXY_BAD);
		bytes[i] ^= 0x40;
	}
}
