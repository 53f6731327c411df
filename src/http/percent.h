/*
 * percent: one escape of percent-encoding (RFC 3986, 2.1), as request targets and names in forms
 * have them. Pure; inline, as path_parse() runs for each request.
 */
#ifndef H2D_HTTP_PERCENT_H
#define H2D_HTTP_PERCENT_H

#include "base/slice.h"

static inline int percent_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The byte that the escape at in.p[i], a percent sign, stands for; -1 if it is none. */
static inline int percent_byte(struct slice in, size_t i)
{
	int high, low;

	if (in.n - i < 3)
		return -1;
	high = percent_digit(in.p[i + 1]);
	low = percent_digit(in.p[i + 2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

#endif
