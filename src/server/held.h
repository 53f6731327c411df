/*
 * held: bytes a connection has read and its protocol takes later: pipelined requests behind one that is
 * under way. Holds no memory while empty. While it is not, nothing more is read, which bounds it. For
 * server/conn.c only.
 */
#ifndef H2D_SERVER_HELD_H
#define H2D_SERVER_HELD_H

#include "base/slice.h"

struct held {
	char *memory;
	struct slice bytes;
};

/* Appends a copy. -1 when memory is out. */
int held_add(struct held *h, const char *p, size_t n);

/* Drops bytes from the front. */
void held_skip(struct held *h, size_t n);

void held_clear(struct held *h);

#endif
