/*
 * sniff: tells the protocol of a connection by its first bytes (RFC 9113, 3.4), in whatever pieces
 * they come. Pure. The bytes that were needed to decide are kept, for the protocol to be fed with.
 */
#ifndef H2D_PROTO_SNIFF_H
#define H2D_PROTO_SNIFF_H

#include <stddef.h>
#include <stdint.h>

enum { SNIFF_BYTES = 24 }; /* the length of HTTP/2's preface */

enum sniffed {
	SNIFF_MORE, /* so far it is the beginning of the preface */
	SNIFF_H2,   /* the preface of HTTP/2 */
	SNIFF_H1,   /* anything else, which HTTP/1 has an answer to */
};

struct sniff {
	unsigned n;
	uint8_t bytes[SNIFF_BYTES];
};

/* The next n bytes; *taken: how many of them were kept. */
enum sniffed sniff_take(struct sniff *s, const uint8_t *p, size_t n, size_t *taken);

#endif
