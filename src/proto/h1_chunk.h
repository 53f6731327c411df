/*
 * h1_chunk: the chunked transfer coding of request bodies (RFC 9112, 7.1), taken apart: sizes,
 * extensions (passed over, bounded), data. Fed with pieces of any size. Pure. The trailer section
 * is h1_parse's.
 */
#ifndef H2D_PROTO_H1_CHUNK_H
#define H2D_PROTO_H1_CHUNK_H

#include <stdint.h>

#include "base/slice.h"

enum {
	H1_CHUNK_DIGITS = 15,      /* of one size: any of them fits an int64_t */
	H1_CHUNK_EXTENSION = 1024, /* bytes behind one size */
};

enum h1_chunked {
	H1_CHUNK_MORE, /* everything was taken */
	H1_CHUNK_DATA, /* a piece of the body was found */
	H1_CHUNK_LAST, /* the last chunk's line is complete; the trailer section follows */
	H1_CHUNK_FAULT,
};

struct h1_chunk {
	int state;
	unsigned n;    /* digits, or bytes of extension */
	uint64_t size; /* of what is left of the chunk */
};

static inline void h1_chunk_init(struct h1_chunk *c)
{
	*c = (struct h1_chunk){ 0 };
}

/* Takes bytes from *data up to end, or up to what is found; piece: bytes of the input. */
enum h1_chunked h1_chunk_next(
	struct h1_chunk *c, const uint8_t **data, const uint8_t *end, struct slice *piece);

#endif
