/*
 * utf8: finds characters of UTF-8 and invalid bytes (RFC 3629). Called to escape HTML, JSON and the
 * access log; all functions are pure.
 */
#pragma once

#include "base/slice.h"

/* U+FFFD, for each byte that is no UTF-8. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character that s, which is not empty, begins with; 0: none. */
size_t utf8_sequence(struct slice s);

/* Text that comes in pieces. Begins zeroed. */
struct utf8_part {
	uint8_t need;      /* bytes missing from the last character: 0 if the text may end */
	uint8_t low, high; /* bounds of the first of them */
};

/* Checks the next piece. False: it is no UTF-8, whatever follows. */
bool utf8_goes_on(struct utf8_part *part, struct slice piece);

/* True if s is UTF-8, to its end. */
static inline bool utf8_whole(struct slice s)
{
	struct utf8_part end = { 0 };

	return utf8_goes_on(&end, s) && end.need == 0;
}

/* The number of a character for which utf8_sequence() returned n. */
uint32_t utf8_number(const char *p, size_t n);

/* True: c changes the direction of text: embeddings, overrides, isolates (UAX 9, 2). They show
 * "cod.exe" as "exe.doc". */
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
