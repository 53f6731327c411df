/*
 * utf8: the decoder that escapes for HTML, JSON and the access log share. It judges bytes that
 * peers and file names bring, and never reads past the end of its slice.
 */
#include "base/utf8.h"

/* RFC 3629, 4 */
size_t utf8_sequence(struct slice s)
{
	unsigned char c = (unsigned char)s.p[0], low = 0x80, high = 0xbf;
	size_t n;

	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	/* no longer forms than needed, no surrogates, nothing above U+10FFFF */
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	if (s.n < n)
		return 0;
	for (size_t i = 1; i < n; i++, low = 0x80, high = 0xbf)
		if ((unsigned char)s.p[i] < low || (unsigned char)s.p[i] > high)
			return 0;
	return n;
}

uint32_t utf8_number(const char *p, size_t n)
{
	uint32_t c = (unsigned char)p[0];

	if (n == 1)
		return c;
	c &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

struct slice utf8_cut(struct slice s, size_t max)
{
	size_t n = max;

	if (s.n <= max)
		return s;
	/* A character has at most three bytes behind its first. */
	while (n > 0 && max - n < 3 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return slice_of(s.p, n);
}
