/*
 * trailers: fields behind the content (RFC 9110, 6.5), of a request or of a response; never mixed
 * with those in front of it, as little may be said so late. They live as long as their request.
 */
#ifndef H2D_REQUEST_TRAILERS_H
#define H2D_REQUEST_TRAILERS_H

#include "base/arena.h"
#include "http/field.h"

enum {
	TRAILERS_MAX = 32,
	TRAILERS_SIZE = 32000, /* of a response's; a request's have what its head may have */
};

struct trailers {
	unsigned n;
	size_t size; /* of names, values and 32 each, as of fields (RFC 9113, 6.5.2) */
	struct field v[TRAILERS_MAX];
};

/*
 * Adds a copy of a field to *trailers, which is made where it is NULL. 0; 1: there are too many, or
 * they have more than limit bytes; -1: memory is out.
 */
int trailers_add(struct trailers **trailers, struct arena *arena, size_t limit, struct slice name,
	struct slice value);

#endif
