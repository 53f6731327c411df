/*
 * response_unit: a response of an application as one text, for check_response and fuzz_response.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "upstream/response.h"

/* The request that it answers. */
struct response_to {
	bool head, upgrade;
};

static struct arena arena;
static struct response response;
static char *seen; /* "[STATUS length name=value …]", content, "{trailers}", "." or "!fault" */
static size_t nseen;
static size_t taken;

static void see_fields(FILE *to, const struct field *fields, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(to, " %.*s=%.*s", SLICE_ARG(fields[i].name), SLICE_ARG(fields[i].value));
}

static void see_head(FILE *to, const struct response *r)
{
	fprintf(to, "[%d", r->status);
	if (r->status >= 200 && r->length != BODY_UNKNOWN)
		fprintf(to, " %llu", (unsigned long long)r->length);
	if (r->status == 101)
		fprintf(to, " to %.*s", SLICE_ARG(r->upgrade));
	see_fields(to, r->fields, r->nfields);
	fputs("]", to);
}

static bool see(FILE *to, enum response_found found, struct slice piece)
{
	struct response *r = &response;

	switch (found) {
	case RESPONSE_MORE:
		return false;
	case RESPONSE_HEAD:
		see_head(to, r);
		return true;
	case RESPONSE_DATA:
		H2D_ASSERT(piece.n > 0);
		fwrite(piece.p, 1, piece.n, to);
		return true;
	case RESPONSE_END:
		if (r->trailers != NULL) {
			fputs("{", to);
			see_fields(to, r->trailers->v, r->trailers->n);
			fputs(" }", to);
		}
		fputs(r->keep ? "." : "|", to);
		return false;
	case RESPONSE_FAULT:
		fprintf(to, "!%s", r->fault);
		return false;
	}
	return false;
}

/* Takes a piece, from memory of just its size: a sanitizer sees the first byte read too far. */
static enum response_found feed_piece(FILE *to, const char *bytes, size_t n)
{
	uint8_t *copy = malloc(n);
	const uint8_t *at = copy;
	enum response_found found;
	struct slice piece;

	H2D_ASSERT(copy != NULL);
	memcpy(copy, bytes, n);
	do
		found = response_next(&response, &at, copy + n, &piece);
	while (see(to, found, piece));
	H2D_ASSERT(found != RESPONSE_MORE || at == copy + n);
	taken += (size_t)(at - copy);
	free(copy);
	return found;
}

/* Feeds the bytes, step at a time, and with ends the end of the connection. */
static void feed(const char *bytes, size_t n, struct response_to to, size_t step, bool ends)
{
	enum response_found found = RESPONSE_MORE;
	FILE *file;

	free(seen);
	file = open_memstream(&seen, &nseen);
	H2D_ASSERT(file != NULL);
	response_begin(&response, &arena, to.head, to.upgrade);
	H2D_ASSERT(!response.seen);
	for (taken = 0; found == RESPONSE_MORE && taken < n;) {
		found = feed_piece(file, bytes + taken, n - taken < step ? n - taken : step);
		H2D_ASSERT(response.seen);
	}
	if (ends && found == RESPONSE_MORE)
		see(file, response_eof(&response), SLICE(""));
	fclose(file);
}
