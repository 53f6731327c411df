/*
 * input_backlog: keeps input until the protocol takes it. stream_turn.c and stream_handshake.c call
 * it. Bytes are added rarely, and once: removal from the front never moves the rest.
 */
#include "conn/stream_conn.h"

#include <stdlib.h>

int input_backlog_add(struct input_backlog *h, const char *p, size_t n)
{
	size_t have = h->bytes.n;
	char *memory = malloc(have + n);

	if (memory == NULL)
		return -1;
	if (have > 0)
		memcpy(memory, h->bytes.p, have);
	memcpy(memory + have, p, n);
	free(h->memory);
	h->memory = memory;
	h->bytes = slice_of(memory, have + n);
	return 0;
}

void input_backlog_skip(struct input_backlog *h, size_t n)
{
	h->bytes = slice_of(h->bytes.p + n, h->bytes.n - n);
	if (h->bytes.n == 0)
		input_backlog_clear(h);
}

void input_backlog_clear(struct input_backlog *h)
{
	free(h->memory);
	*h = (struct input_backlog){ 0 };
}
