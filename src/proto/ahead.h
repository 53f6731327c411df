/*
 * ahead: the bytes of request bodies that clients may send before they are taken, beyond the first
 * 64 KiB of each connection. One sum per worker for both protocols, so that no number of clients
 * fills its memory; each part counts for a client's account. An unused part is withdrawn when
 * another client asks, and the largest account pays for one with next to nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "share/line.h"

/* Bytes that each connection may send without a part of the sum: RFC 9113, 6.9.2. */
enum { AHEAD_FREE = 65535 };

/* Bytes that an upload begins with: with less, a fast network is idle most of the time. */
enum { AHEAD_FIRST = 1 << 20 };

static inline uint64_t ahead_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct ahead {
	struct line line;    /* without waiting: parts are lent, and given back */
	uint64_t charged_ms; /* when the largest account last paid */
};

/* A part of the sum, for a connection or a request: in its owner's memory, written by ahead.c
 * alone. */
struct ahead_part {
	struct line_turn turn; /* the client's account: NULL for an admin listener, or a test */
	uint64_t came;         /* bytes since its last use: see ahead_came() */
	bool short_of;         /* the last request for more got less */
	/* Called when another client needs it: gives back, by ahead_give(), all of it that is not
	 * in memory. */
	void (*withdraw)(struct ahead_part *part);
};

/* receive_window: of one connection; the sum is eight of those, 128 MiB at least. */
void ahead_init(struct ahead *a, uint32_t receive_window);

/* Makes an empty part. */
void ahead_part_init(struct ahead_part *part, struct account *account,
	void (*withdraw)(struct ahead_part *part));

/*
 * Takes up to n more for part, or none if there is less than at_least. growth: from its half of the
 * sum, so that later uploads find what they begin with. Returns how much.
 */
uint64_t ahead_take(
	struct ahead *a, struct ahead_part *part, uint64_t at_least, uint64_t n, bool growth);

/* Frees n of part. */
void ahead_give(struct ahead *a, struct ahead_part *part, uint64_t n);

/* Counts n bytes of the bodies of part. */
void ahead_came(struct ahead *a, struct ahead_part *part, size_t n);
