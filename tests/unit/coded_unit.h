/*
 * coded_unit: files in content codings that decode to what they shall lie beside of. For tests that
 * are linked with the keeper, whose compressor makes them; behind tree_unit.h.
 */
#ifndef H2D_TESTS_CODED_UNIT_H
#define H2D_TESTS_CODED_UNIT_H

#include "http/compress.h"
#include "tree_unit.h"

struct coded_text {
	char bytes[4096];
	size_t n;
};

static inline struct coded_text coded_of(enum coding coding, const char *text)
{
	struct coded_text c;
	ssize_t n =
		compress_whole(coding, COMPRESS_BEST, text, strlen(text), c.bytes, sizeof(c.bytes));

	ck_assert_int_gt(n, 0);
	c.n = (size_t)n;
	return c;
}

static inline void tree_coded(const char *name, enum coding coding, const char *text)
{
	struct coded_text c = coded_of(coding, text);

	tree_write(name, c.bytes, c.n);
}

#endif
