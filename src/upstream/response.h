/*
 * response: parses what an upstream sends for one request (RFC 9112, 4 and 6): interim heads, the
 * head, the content, the trailer section. It refuses every framing that two readers could
 * understand differently. Fed with pieces of any size. Pure. Called by exchange.c.
 */
#pragma once

#include "proto/h1_parse.h"

enum {
	RESPONSE_HEAD_MAX = 65536,  /* bytes of a status line, and of a header section */
	RESPONSE_INTERIMS_MAX = 64, /* interim responses to one request */
};

enum response_found {
	RESPONSE_MORE,    /* all input was taken */
	RESPONSE_INTERIM, /* a complete interim head: status and fields are set until the next call
			   */
	RESPONSE_HEAD,    /* the complete final head: status, fields and length are set */
	RESPONSE_DATA,    /* piece has content */
	RESPONSE_END,     /* the response is complete; later bytes were not taken */
	RESPONSE_FAULT,   /* fault is set */
};

/* The request that it answers. */
struct response_to {
	bool head;    /* of method HEAD: no content */
	bool upgrade; /* 101 is a final answer, and everything behind it is content up to the end */
};

struct response {
	int status;
	struct field *fields; /* end-to-end ones, in the arena, names in lower case; no
			       * content-length */
	unsigned nfields;
	struct slice upgrade; /* of a 101 */
	uint64_t length; /* of the content; BODY_UNKNOWN: chunked, or up to the end; of a HEAD: as
			  * content-length says */
	bool keep;       /* the connection may continue behind the end */
	struct trailers *trailers; /* NULL: none; complete at RESPONSE_END */
	const char *fault;         /* constant text: "content-length with transfer-encoding" */

	/* response.c's own. */
	struct response_to to;
	struct h1_parse parse;
	struct h1_chunk chunk;
	struct h1_head head;
	struct slice named; /* headers that Connection names: a list */
	unsigned interims;
	int state; /* the part that the next bytes belong to */
	bool seen; /* a byte of it came */
};

/* A response begins with the next byte. Its memory is arena's, which outlives it. */
void response_begin(struct response *r, struct arena *arena, struct response_to to);

/* Takes bytes from *data up to end, or up to a result; piece: bytes of the input. Not after
 * RESPONSE_END or RESPONSE_FAULT. RESPONSE_END may follow RESPONSE_HEAD or RESPONSE_DATA without
 * further input: call until RESPONSE_MORE. */
enum response_found response_next(
	struct response *r, const uint8_t **data, const uint8_t *end, struct slice *piece);

/* The connection has ended: RESPONSE_END if that is the end of the content, else RESPONSE_FAULT. */
enum response_found response_eof(struct response *r);

/* True if no byte of it came. */
bool response_is_untouched(const struct response *r);
