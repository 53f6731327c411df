/*
 * h1_parse: from bytes to the parts of an HTTP/1 message head (RFC 9112, 2 to 5): request line,
 * field lines, and the trailer section. Fed with pieces of any size. Bytes are copied once, into
 * the request's arena; results point there. Pure. h1_head interprets headers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "request/body.h"

/*
 * h1_head: the facts in a request's headers about its message and its connection (RFC 9112): the
 * body's length, the host, the end of the connection. It refuses all that could make this server
 * and a proxy before it disagree about the end of a request. Pure.
 */

/* Begins with length BODY_UNKNOWN, all else zeroed. */
struct h1_head {
	struct slice host; /* of the Host header; n 0: none */
	uint64_t length;   /* of content-length; BODY_UNKNOWN: none */
	bool chunked;
	bool close, keep_alive; /* options of Connection */
	bool wants_continue;    /* expect: 100-continue */
	bool expects_other;
	struct slice upgrade; /* the protocol of Upgrade; n 0: none */
	bool upgrades;        /* option of Connection, without which that means nothing */
};

/*
 * Takes one header. *keep: it is the request's, too; a hop-by-hop header (RFC 9110, 7.6.1) is not,
 * except a Connection that names headers; nor is Host, which is the authority. NULL, or the error.
 */
const struct err *h1_head_field(
	struct h1_head *h, struct slice name, struct slice value, bool *keep);

/* Ends the head. minor: of the version. */
const struct err *h1_head_end(struct h1_head *h, unsigned minor);

/*
 * Splits a target in absolute-form (RFC 9112, 3.2.2): 1, *rest begins with "/" or "?" or is empty.
 * 0: another form. -1: its authority is malformed, or its scheme is another.
 */
int h1_head_absolute(
	struct slice target, struct slice *scheme, struct slice *authority, struct slice *rest);

/*
 * h1_chunk: the chunked transfer coding of request bodies (RFC 9112, 7.1), parsed: sizes,
 * extensions (skipped, bounded), data. Fed with pieces of any size. Pure. The trailer section is
 * h1_parse's.
 */

enum {
	H1_CHUNK_DIGITS = 15,      /* of one size: any of them fits an int64_t */
	H1_CHUNK_EXTENSION = 1024, /* bytes after one size */
};

enum h1_chunked {
	H1_CHUNK_MORE, /* all input was taken */
	H1_CHUNK_DATA, /* a piece of the body was found */
	H1_CHUNK_LAST, /* the last chunk's line is complete; the trailer section follows */
	H1_CHUNK_FAULT,
};

/* Begins zeroed. */
struct h1_chunk {
	int state;
	unsigned n;    /* digits, or bytes of extension */
	uint64_t size; /* the rest of the chunk */
};

/* Takes bytes from *data up to end, or up to a result; piece: bytes of the input. */
enum h1_chunked h1_chunk_next(
	struct h1_chunk *c, const uint8_t **data, const uint8_t *end, struct slice *piece);

/* RFC 9112, 2.2: empty lines skipped before a request line. */
enum { H1_EMPTY_LINES = 2 };

enum h1_parsed {
	H1_MORE,  /* all input was taken, and no part is complete */
	H1_LINE,  /* method, target and minor are set */
	H1_FIELD, /* name and value are set */
	H1_END,   /* the section is complete; later bytes were not taken */
	H1_FAULT, /* err is set; method and target are, if they were complete */
};

/* Begins zeroed; later requests begin in the final state of the last one. */
struct h1_parse {
	struct slice method, target;
	struct slice name, value; /* name in lower case, value trimmed of white space */
	unsigned minor;           /* of the version, 0 or 1 */
	const struct err *err;

	struct arena *arena;
	int state;
	unsigned empty;    /* bytes of skipped empty lines */
	unsigned nversion; /* bytes of the version seen */
	char major;
	bool discard;          /* a line's memory is reused for the next */
	size_t limit, left;    /* the most bytes of a section, and the rest of this one */
	char *line, *at, *end; /* memory: the beginning of the line's parts, the next byte, the
				* end */
	size_t first;          /* length of the line's first part: method or name */
};

/* Called between requests: returns how many of the n bytes are empty lines. The next one begins a
 * request. */
size_t h1_parse_blank(struct h1_parse *p, const uint8_t *data, size_t n);

/* A request line begins. limit: of its bytes, and separately of those of the header section. */
void h1_parse_begin(struct h1_parse *p, struct arena *arena, size_t limit);

/* A section of headers begins without a line before it, such as the trailers of a chunked body. Not
 * kept, a header's memory is reused for the next one. */
void h1_parse_fields(struct h1_parse *p, bool kept);

/* Takes bytes from *data up to end, or up to the next result. Not after H1_END or H1_FAULT. */
enum h1_parsed h1_parse_next(struct h1_parse *p, const uint8_t **data, const uint8_t *end);
