/*
 * h2_guard: weighs the cost of a peer's acts against their use (RFC 9113, 10.5). Credit fills with
 * time; a useless frame, a reset caused by the peer (CVE-2025-8671) and headers that are long only
 * by HPACK cost credit, content sent to the peer gives some back. h2.c ends a peer without credit.
 * Pure; nghttp2 itself limits a peer's resets and CONTINUATION.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prices of acts. */
enum {
	H2_GUARD_IDLE = 1,   /* a frame that is only read */
	H2_GUARD_ANSWER = 5, /* a frame that is answered, or looked up in vain */
	H2_GUARD_FIELDS = 5, /* 1024 bytes of decoded and dropped headers */
	H2_GUARD_RESET = 25, /* a stream that is reset, or a head that is refused */
};

/* Bytes of content that make a DATA frame worth its head. */
enum { H2_GUARD_CONTENT = 32 };

struct h2_guard {
	int32_t credit; /* below 0: overdrawn */
	int32_t most;
	uint64_t filled_ms;
};

/* Opens it with full credit, most of it (limits.glitches); a fifth of that returns each second. */
void h2_guard_open(struct h2_guard *g, uint32_t most, uint64_t now_ms);

/* Adds credit for the time passed. */
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

/* A DATA frame of n bytes was sent: the peer may reopen its windows, in pieces this small. */
static inline void h2_guard_sent(struct h2_guard *g, size_t n)
{
	h2_guard_give(g, 2 + (unsigned)(n / 1024));
}

static inline bool h2_guard_overdrawn(const struct h2_guard *g)
{
	return g->credit < 0;
}

/*
 * h2_frames: finds the frames in the peer's bytes (RFC 9113, 4.1) that nghttp2 does not report:
 * DATA ignored because the stream is closed, and the content of PRIORITY frames once RFC 7540's
 * priorities are switched off: a stream that depended on itself was an error (RFC 7540, 5.3.1), and
 * servers are still tested for it. Pure.
 */

/* 9 bytes of head, 4 of a PRIORITY frame's dependency. */
enum { H2_FRAMES_HEAD = 9, H2_FRAMES_BYTES = 13 };

struct h2_frames {
	uint32_t skip;  /* bytes until the next frame's head; at first those of the preface */
	unsigned have;  /* bytes of head[] */
	unsigned price; /* of the scanned frames; the caller sets it to 0 */
	int32_t credit; /* the most that they may cost; the caller sets it */
	uint8_t head[H2_FRAMES_BYTES];
};

enum h2_frames_found {
	H2_FRAMES_NOTHING,
	H2_FRAMES_DATA, /* the head of a DATA frame is complete */
	H2_FRAMES_SELF, /* a PRIORITY frame depends on its own stream */
	H2_FRAMES_DEAR, /* the frames so far cost more than the credit */
};

/* Scans n bytes, of any pieces, up to a result; returns how many. id: the result's stream. */
size_t h2_frames_scan(
	struct h2_frames *s, const uint8_t *p, size_t n, enum h2_frames_found *found, int32_t *id);
