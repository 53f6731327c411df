/*
 * h2_frames: finds the frames in the peer's bytes (RFC 9113, 4.1) that nghttp2 does not report:
 * DATA ignored because the stream is closed, and the content of PRIORITY frames once RFC 7540's
 * priorities are switched off: a stream that depended on itself was an error (RFC 7540, 5.3.1), and
 * servers are still tested for it. Pure.
 */
#ifndef H2D_PROTO_H2_FRAMES_H
#define H2D_PROTO_H2_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* 9 bytes of head, 4 of a PRIORITY frame's dependency. */
enum { H2_FRAMES_HEAD = 9, H2_FRAMES_BYTES = 13 };

struct h2_frames {
	uint32_t skip;  /* bytes until the next frame's head; at first those of the preface */
	unsigned have;  /* bytes of head[] */
	unsigned price; /* of the scanned frames (h2_guard.h); the caller sets it to 0 */
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

#endif
