/* held: see held.h. Bytes are added rarely, and once: what is taken from the front moves nothing. */
#include "server/held.h"

#include <stdlib.h>

int held_add(struct held *h, const char *p, size_t n)
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

void held_skip(struct held *h, size_t n)
{
	h->bytes = slice_of(h->bytes.p + n, h->bytes.n - n);
	if (h->bytes.n == 0)
		held_clear(h);
}

void held_clear(struct held *h)
{
	free(h->memory);
	*h = (struct held){ 0 };
}
