/*
 * trailers: headers after the content (RFC 9110, 6.5), of a request or of a response; never mixed
 * with those before it, as few are allowed so late. They live as long as their request.
 */
#ifndef H2D_REQUEST_TRAILERS_H
#define H2D_REQUEST_TRAILERS_H

#include "base/arena.h"
#include "http/field.h"

enum {
	TRAILERS_MAX = 32,
	TRAILERS_SIZE = 32000, /* of a response's; a request's have the limit of its head */
};

struct trailers {
	unsigned n;
	size_t size; /* of names, values and 32 each, like headers (RFC 9113, 6.5.2) */
	struct field v[TRAILERS_MAX];
};

/*
 * Adds a copy of a header to *trailers, which is made if it is NULL. 0; 1: there are too many, or
 * they exceed limit bytes; -1: memory is out.
 */
int trailers_add(struct trailers **trailers, struct arena *arena, size_t limit, struct slice name,
	struct slice value);

#endif
