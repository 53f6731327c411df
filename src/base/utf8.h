/*
 * utf8: tells characters of UTF-8 from bytes that are none (RFC 3629). The escaping functions for
 * HTML, JSON and the access log call it; the functions are pure.
 */
#ifndef H2D_BASE_UTF8_H
#define H2D_BASE_UTF8_H

#include "base/slice.h"

/* U+FFFD: stands for each byte that is no UTF-8. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character that s, which is not empty, begins with; 0: it begins with none. */
size_t utf8_sequence(struct slice s);

/* Text that comes in pieces. Zeroed, it begins. */
struct utf8_part {
	uint8_t need;      /* bytes that the last character lacks: 0 where the text may end */
	uint8_t low, high; /* bounds of the first of them */
};

/* The next piece of it. False: it is no UTF-8, whatever comes. */
bool utf8_goes_on(struct utf8_part *part, struct slice piece);

/* The number of a character that utf8_sequence() says has n bytes. */
uint32_t utf8_number(const char *p, size_t n);

/* True: c turns the direction of what follows: embeddings, overrides, isolates (UAX 9, 2). They
 * show "cod.exe" as "exe.doc". */
static inline bool utf8_is_direction(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* True: c is of Unicode's Cc, Zl or Zp. */
static inline bool utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

/* The first bytes of s, at most max, that do not end inside a character. */
struct slice utf8_cut(struct slice s, size_t max);

#endif
