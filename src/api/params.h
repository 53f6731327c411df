/*
 * params: the parameters of a query, or of a form, decoded: names and values, in the order in which
 * they came. They are made when a handler asks for the first of them, and live as long as its
 * request.
 */
#ifndef H2D_API_PARAMS_H
#define H2D_API_PARAMS_H

#include "base/arena.h"
#include "http/field.h"

struct params {
	unsigned n;
	struct field v[];
};

/*
 * Decodes n bytes at p in place; they live as long as arena, and have room for one more. NULL when
 * memory is out.
 */
struct params *params_new(struct arena *arena, char *p, size_t n);

#endif
