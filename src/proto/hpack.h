/*
 * hpack: encodes the fields of responses (RFC 7541), and remembers for one connection what its peer
 * has in its table. It may forget any of that at any time: what it does not know it does not name.
 * h2_head.c writes the blocks of a connection with it, in the order in which they are sent.
 */
#ifndef H2D_PROTO_HPACK_H
#define H2D_PROTO_HPACK_H

#include <sys/types.h>

#include "http/field.h"

enum {
	HPACK_TABLE = 4096,   /* bytes of the table, unless the peer wants fewer (RFC 7541, 4.2) */
	HPACK_KEPT = 64,      /* entries; a power of two, and few enough for indices of one byte */
	HPACK_GUESSES = 16,   /* places of a block whose last entry is remembered */
	HPACK_STATUS_MAX = 5, /* bytes of :status */
};

struct hpack_entry;

struct hpack {
	/* Newest in front of next, all modulo HPACK_KEPT; NULL where there is none. */
	struct hpack_entry *entries[HPACK_KEPT];
	uint16_t hashes[HPACK_KEPT];
	unsigned next, n;
	size_t size, max; /* as RFC 7541, 4.1 counts; the peer's table may have more */
	uint8_t guesses[HPACK_GUESSES]; /* the entry that stood there last, by the place in a block
					 */
};

void hpack_init(struct hpack *h);

/* Forgets all entries, and frees them. */
void hpack_clear(struct hpack *h);

/* The peer's table may have that many bytes from now on; who calls says so in front of the next
 * block (RFC 7541, 6.3). Forgets all entries. */
void hpack_resize(struct hpack *h, size_t max);

/* Writes :status, at most HPACK_STATUS_MAX bytes, to out; the end of them. */
uint8_t *hpack_status(int status, uint8_t *out);

/*
 * Writes n fields to out, not beyond end; the end of what was written, all of which has to be sent.
 * NULL: there is no room for all of them, and nothing of it may be sent.
 */
uint8_t *hpack_fields(
	struct hpack *h, const struct field *fields, unsigned n, uint8_t *out, const uint8_t *end);

#endif
