/*
 * hpack: encodes the headers of responses (RFC 7541), and remembers the table of one connection's
 * peer. It may forget entries at any time, and then does not refer to them.
 */
#pragma once

#include <sys/types.h>

#include "http/field.h"

enum {
	HPACK_TABLE = 4096,   /* bytes of the table, unless the peer allows fewer (RFC 7541, 4.2) */
	HPACK_KEPT = 64,      /* entries; a power of two, and few enough for indices of one byte */
	HPACK_GUESSES = 16,   /* places of a block whose last entry is remembered */
	HPACK_STATUS_MAX = 5, /* bytes of :status */
};

struct hpack_entry;

struct hpack {
	/* Newest just before next, all modulo HPACK_KEPT; NULL: none. */
	struct hpack_entry *entries[HPACK_KEPT];
	uint16_t hashes[HPACK_KEPT];
	unsigned next, n;
	size_t size, max;               /* by RFC 7541, 4.1; the peer's table may have more */
	uint8_t guesses[HPACK_GUESSES]; /* the last entry used, by the place in a block */
};

void hpack_init(struct hpack *h);

/* Forgets all entries, and frees them. */
void hpack_clear(struct hpack *h);

/* Limits the peer's table to that many bytes; the caller announces it before the next block (RFC
 * 7541, 6.3). Forgets all entries. */
void hpack_resize(struct hpack *h, size_t max);

/* Writes :status, at most HPACK_STATUS_MAX bytes, to out; returns its end. */
uint8_t *hpack_status(int status, uint8_t *out);

/*
 * Writes n headers to out, up to end; returns the end of the bytes, which must all be sent. NULL:
 * no room for all of them, and none may be sent.
 */
uint8_t *hpack_fields(
	struct hpack *h, const struct field *fields, unsigned n, uint8_t *out, const uint8_t *end);
