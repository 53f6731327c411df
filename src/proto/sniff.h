/*
 * sniff: tells the protocol of a connection by its first bytes (RFC 9113, 3.4), in whatever pieces they
 * come. Pure. The bytes that were needed to decide are kept, for the protocol to be fed with.
 */
#ifndef H2D_PROTO_SNIFF_H
#define H2D_PROTO_SNIFF_H

#include <stddef.h>
#include <stdint.h>

/* Said to who speaks HTTP/1.x, which is not spoken here (RFC 9110, 15.6.6). */
extern const char sniff_http1_answer[];

enum { SNIFF_BYTES = 24 }; /* the length of HTTP/2's preface */

enum sniffed {
	SNIFF_MORE,   /* so far it is the beginning of the preface */
	SNIFF_H2,     /* the preface, or nothing that is known: HTTP/2 has its own answer to that */
	SNIFF_HTTP1,  /* a request line of HTTP/1.x */
};

struct sniff {
	unsigned n;
	uint8_t bytes[SNIFF_BYTES];
};

/* The next n bytes; *taken: how many of them were kept. */
enum sniffed sniff_take(struct sniff *s, const uint8_t *p, size_t n, size_t *taken);

#endif
