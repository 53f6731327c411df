/*
 * ahead: what clients may send of request bodies before somebody takes it, beyond the first 64 KiB
 * of each connection. One sum per worker for both protocols, so that no number of clients fills its
 * memory, however slow the disk or a handler is; each part of it is asked of a client's account. A
 * part that its holder does not use is withdrawn when somebody else asks, and whoever holds most
 * pays for whoever has next to nothing. h1_body.c and window.c call it and own the parts; it
 * never sees a byte of a body.
 */
#ifndef H2D_PROTO_AHEAD_H
#define H2D_PROTO_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "share/line.h"

/* Bytes that each connection may send without a part of the sum: RFC 9113, 6.9.2. */
enum { AHEAD_FREE = 65535 };

/* Bytes that an upload begins with: with less, a fast network stands still most of the time. */
enum { AHEAD_FIRST = 1 << 20 };

static inline uint64_t ahead_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct ahead {
	struct line line;    /* nobody waits in it: parts are lent, and given back */
	uint64_t charged_ms; /* when the account that holds most paid last */
};

/* A part of the sum, for a connection or a request: in its owner's memory, written by ahead.c
 * alone. */
struct ahead_part {
	struct line_turn
		turn;  /* the client's account: nobody's is an admin listener's, or a test's */
	uint64_t came; /* bytes since it was used last: see ahead_came() */
	bool short_of; /* the last time there was less than it asked for */
	/* Called when somebody else needs it: to give back, by ahead_give(), all of it that is not
	 * in memory. */
	void (*withdraw)(struct ahead_part *part);
};

/* receive_window: of one connection; the sum is eight of those, 128 MiB at least. */
void ahead_init(struct ahead *a, uint32_t receive_window);

/* A part without anything in it yet. */
void ahead_part_init(struct ahead_part *part, struct account *account,
	void (*withdraw)(struct ahead_part *part));

/*
 * Takes up to n more for part, or nothing where there is less than at_least. growth: out of the
 * half of the sum that is for it, so that later uploads find what they begin with. How much.
 */
uint64_t ahead_take(
	struct ahead *a, struct ahead_part *part, uint64_t at_least, uint64_t n, bool growth);

/* Gives n of part back: they are free again. */
void ahead_give(struct ahead *a, struct ahead_part *part, uint64_t n);

/* n bytes came of the bodies that part is for. */
void ahead_came(struct ahead *a, struct ahead_part *part, size_t n);

#endif
