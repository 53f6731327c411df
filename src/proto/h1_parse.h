/*
 * h1_parse: from bytes to the parts of an HTTP/1 message head (RFC 9112, 2 to 5): request line,
 * field lines, and the trailer section. Fed with pieces of any size. Bytes are copied once, into
 * the request's arena; what is found points there. Pure. What fields mean is h1_head's.
 */
#ifndef H2D_PROTO_H1_PARSE_H
#define H2D_PROTO_H1_PARSE_H

#include "base/arena.h"
#include "base/err.h"

/* RFC 9112, 2.2: empty lines in front of a request line that are passed over. */
enum { H1_EMPTY_LINES = 2 };

enum h1_parsed {
	H1_MORE,  /* everything was taken, and nothing is complete */
	H1_LINE,  /* method, target and minor are set */
	H1_FIELD, /* name and value are set */
	H1_END,   /* the section is complete; what follows was not taken */
	H1_FAULT, /* err is set; method and target are, if they were complete */
};

struct h1_parse {
	struct slice method, target;
	struct slice name, value; /* name in lower case, value without white space around it */
	unsigned minor;           /* of the version, 0 or 1 */
	const struct err *err;

	struct arena *arena;
	int state;
	unsigned empty;    /* bytes of empty lines passed over */
	unsigned nversion; /* bytes of the version seen */
	char major;
	bool discard;          /* a trailer section: a line's memory is used for the next */
	size_t limit, left;    /* bytes a section may have, and this one may still have */
	char *line, *at, *end; /* memory: where the line's parts begin, the next byte, its end */
	size_t first;          /* length of the line's first part: method or name */
};

/* Initial state of a connection's first request; all others begin as the last one ended. */
static inline void h1_parse_init(struct h1_parse *p)
{
	p->empty = 0;
}

/* Between requests: how many of the n bytes are empty lines. The next one begins a request. */
size_t h1_parse_blank(struct h1_parse *p, const uint8_t *data, size_t n);

/* A request line begins. limit: of its bytes, and again of those of the header section. */
void h1_parse_begin(struct h1_parse *p, struct arena *arena, size_t limit);

/* The trailer section of a chunked body begins; its fields are found, but do not last (6.5.1). */
void h1_parse_trailers(struct h1_parse *p);

/* Takes bytes from *data up to end, or up to the next thing found. Not after H1_END or H1_FAULT. */
enum h1_parsed h1_parse_next(struct h1_parse *p, const uint8_t **data, const uint8_t *end);

#endif
