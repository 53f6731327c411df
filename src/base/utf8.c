/* utf8: the decoder that escapes for HTML, JSON and the access log share. */
#include "base/utf8.h"

/* A byte that begins a character of several; *part: the bytes to follow. RFC 3629, 4: no longer
 * forms than needed, no surrogates, nothing above U+10FFFF. */
static bool utf8_begin(struct utf8_part *part, unsigned char c)
{
	if (c < 0xc2 || c > 0xf4)
		return false;
	part->need = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	part->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	part->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	return true;
}

static bool follows(struct utf8_part *part, unsigned char c)
{
	if (c < part->low || c > part->high)
		return false;
	part->need--;
	part->low = 0x80;
	part->high = 0xbf;
	return true;
}

size_t utf8_sequence(struct slice s)
{
	unsigned char c = (unsigned char)s.p[0];
	struct utf8_part part;
	size_t n;

	if (c < 0x80)
		return 1;
	if (!utf8_begin(&part, c) || s.n <= part.need)
		return 0;
	n = part.need + 1u;
	for (size_t i = 1; i < n; i++)
		if (!follows(&part, (unsigned char)s.p[i]))
			return 0;
	return n;
}

bool utf8_goes_on(struct utf8_part *part, struct slice piece)
{
	static const uint64_t high_bits = 0x8080808080808080;
	uint64_t eight;

	for (size_t i = 0; i < piece.n; i++) {
		unsigned char c = (unsigned char)piece.p[i];

		if (part->need > 0 ? !follows(part, c) : c >= 0x80 && !utf8_begin(part, c))
			return false;
		/* Plain text is skipped by eight bytes. */
		while (part->need == 0 && piece.n - i > 8) {
			memcpy(&eight, piece.p + i + 1, 8);
			if (eight & high_bits)
				break;
			i += 8;
		}
	}
	return true;
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
	/* At most three bytes follow the first. */
	while (n > 0 && max - n < 3 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return slice_of(s.p, n);
}
