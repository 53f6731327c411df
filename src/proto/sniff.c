/*
 * sniff: compares the first bytes of a connection with the preface of HTTP/2. Called by
 * conn/stream_turn.c before there is a protocol; never reads from a socket.
 */
#include "proto/sniff.h"

#include <string.h>

static const uint8_t preface[SNIFF_BYTES + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum sniffed sniff_take(struct sniff *s, const uint8_t *p, size_t n, size_t *taken)
{
	*taken = n < SNIFF_BYTES - s->n ? n : SNIFF_BYTES - s->n;
	memcpy(s->bytes + s->n, p, *taken);
	s->n += (unsigned)*taken;
	if (memcmp(s->bytes, preface, s->n) != 0)
		return SNIFF_H1;
	return s->n == SNIFF_BYTES ? SNIFF_H2 : SNIFF_MORE;
}
