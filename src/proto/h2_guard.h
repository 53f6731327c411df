/*
 * h2_guard: an account of what a peer's acts cost beside what they are good for (RFC 9113, 10.5).
 * Credit fills with time; a frame that does no work, a reset that the peer has brought about
 * (CVE-2025-8671) and fields that are long by HPACK alone take from it, content that a peer is sent
 * gives some back. A peer that has overdrawn it is ended, by h2.c. Pure; resets of its own and
 * CONTINUATION are bounded by nghttp2 itself.
 */
#ifndef H2D_PROTO_H2_GUARD_H
#define H2D_PROTO_H2_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prices of acts. */
enum {
	H2_GUARD_IDLE = 1,   /* a frame that is read and no more */
	H2_GUARD_ANSWER = 5, /* a frame that is answered, or looked up for nothing */
	H2_GUARD_FIELDS = 5, /* 1024 bytes of fields that are decoded and dropped */
	H2_GUARD_RESET = 25, /* a stream that is reset, or a head that is refused */
};

/* Bytes of content that make a DATA frame worth its head. */
enum { H2_GUARD_CONTENT = 32 };

struct h2_guard {
	int32_t credit; /* below 0: overdrawn */
	int32_t most;
	uint64_t filled_ms;
};

/* An account with all its credit, most of it (limits.glitches); a fifth of that comes back each
 * second. */
void h2_guard_open(struct h2_guard *g, uint32_t most, uint64_t now_ms);

/* Time has passed. */
void h2_guard_fill(struct h2_guard *g, uint64_t now_ms);

/* The price of a frame, by its head of 9 bytes (RFC 9113, 4.1). */
unsigned h2_guard_price(const uint8_t *head);

/* The price of a header section of decoded bytes (names, values and 32 each) that came in wire
 * bytes. */
unsigned h2_guard_section_price(size_t decoded, size_t wire);

static inline void h2_guard_take(struct h2_guard *g, unsigned price)
{
	g->credit -= (int32_t)price;
}

static inline void h2_guard_give(struct h2_guard *g, unsigned price)
{
	g->credit = g->most - g->credit < (int32_t)price ? g->most : g->credit + (int32_t)price;
}

/* A DATA frame of n bytes was sent: the peer may open its windows anew, in pieces as small as these
 * are. */
static inline void h2_guard_sent(struct h2_guard *g, size_t n)
{
	h2_guard_give(g, 2 + (unsigned)(n / 1024));
}

static inline bool h2_guard_overdrawn(const struct h2_guard *g)
{
	return g->credit < 0;
}

#endif
