/* sniff: see sniff.h. Called by server/conn.c before there is a protocol. */
#include "proto/sniff.h"

#include <string.h>

const char sniff_http1_answer[] =
	"HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-type: text/plain\r\ncontent-length: 35\r\n"
	"connection: close\r\n\r\nThis server speaks HTTP/2 (h2, h2c)";

static const uint8_t preface[SNIFF_BYTES + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum sniffed sniff_take(struct sniff *s, const uint8_t *p, size_t n, size_t *taken)
{
	static const char version[] = " HTTP/1.";

	*taken = n < SNIFF_BYTES - s->n ? n : SNIFF_BYTES - s->n;
	memcpy(s->bytes + s->n, p, *taken);
	s->n += (unsigned)*taken;
	if (memcmp(s->bytes, preface, s->n) == 0)
		return s->n == SNIFF_BYTES ? SNIFF_H2 : SNIFF_MORE;
	return memmem(p, n, version, sizeof(version) - 1) != NULL ? SNIFF_HTTP1 : SNIFF_H2;
}
