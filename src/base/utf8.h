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

/* The first bytes of s, at most max, that do not end inside a character. */
struct slice utf8_cut(struct slice s, size_t max);

#endif
