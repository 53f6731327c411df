/*
 * input_backlog: bytes that a connection has read and its protocol takes later: pipelined requests
 * behind one that is under way. The connection owns it and reads nothing more while it is not
 * empty, which bounds it; an empty one holds no memory.
 */
#ifndef H2D_CONN_INPUT_BACKLOG_H
#define H2D_CONN_INPUT_BACKLOG_H

#include "base/slice.h"

struct input_backlog {
	char *memory;
	struct slice bytes;
};

/* Appends a copy. -1 when memory is out. */
int input_backlog_add(struct input_backlog *h, const char *p, size_t n);

/* Drops bytes from the front. */
void input_backlog_skip(struct input_backlog *h, size_t n);

void input_backlog_clear(struct input_backlog *h);

#endif
