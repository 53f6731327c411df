/*
 * response: parses what an upstream sends for one request (RFC 9112, 4 and 6): interim heads, the
 * head, the content, the trailer section. It refuses every framing that two readers could
 * understand differently. Fed with pieces of any size. Pure. Called by proxy.c.
 */
#pragma once

#include "proto/h1_parse.h"

enum {
	RESPONSE_HEAD_MAX = 65536,  /* bytes of a status line, and of a header section */
	RESPONSE_INTERIMS_MAX = 64, /* interim responses to one request */
};

enum response_found {
	RESPONSE_MORE,  /* all input was taken */
	RESPONSE_HEAD,  /* a complete head: status and fields are set, of an interim response until
			 * the next call; of the final one, or a 101, length, too */
	RESPONSE_DATA,  /* piece has content */
	RESPONSE_END,   /* the response is complete; later bytes were not taken */
	RESPONSE_FAULT, /* fault is set */
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
	bool seen;                 /* a byte of it came */

	/* response.c's own. */
	bool of_head, of_upgrade;
	bool http10;
	unsigned line;   /* bytes of the status line */
	unsigned digits; /* the five in it, as a number */
	struct h1_parse parse;
	struct h1_chunk chunk;
	struct h1_head head;
	struct slice named; /* headers that Connection names: a list */
	unsigned interims;
	int state; /* the part that the next bytes belong to */
};

/* A response begins with the next byte. Its memory is arena's, which outlives it. of_head: to a
 * HEAD, which has no content; of_upgrade: 101 is final, and all behind it is content up to the end.
 */
void response_begin(struct response *r, struct arena *arena, bool of_head, bool of_upgrade);

/* Takes bytes from *data up to end, or up to a result; piece: bytes of the input. Not after
 * RESPONSE_END or RESPONSE_FAULT. RESPONSE_END may follow RESPONSE_HEAD or RESPONSE_DATA without
 * further input: call until RESPONSE_MORE. */
enum response_found response_next(
	struct response *r, const uint8_t **data, const uint8_t *end, struct slice *piece);

/* The connection has ended: RESPONSE_END if that is the end of the content, else RESPONSE_FAULT. */
enum response_found response_eof(struct response *r);
