/*
 * h2_guard: bounds on frames that cost work and do none (RFC 9113, 10.5): a bucket of credit per
 * connection that fills with time. Resets and CONTINUATION are bounded by nghttp2 itself. Pure.
 */
#ifndef H2D_PROTO_H2_GUARD_H
#define H2D_PROTO_H2_GUARD_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	H2_GUARD_BURST = 1000,
	H2_GUARD_PER_SECOND = 100,
	H2_GUARD_FIELD = 1024, /* bytes of a dropped field that are as much work as a frame */
};

struct h2_guard {
	uint32_t credit;
	uint64_t filled_ms;
};

static inline void h2_guard_init(struct h2_guard *g, uint64_t now_ms)
{
	g->credit = H2_GUARD_BURST;
	g->filled_ms = now_ms;
}

/* A complete frame came in. False: too many of its kind, end the connection. */
bool h2_guard_frame(struct h2_guard *g, const nghttp2_frame_hd *hd, uint64_t now_ms);

/* A field of n bytes was decoded and is dropped. */
bool h2_guard_field(struct h2_guard *g, size_t n, uint64_t now_ms);

#endif
