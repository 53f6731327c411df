/*
 * h2_frames: reads the heads of frames and counts their payload down. Called by h2.c beside
 * nghttp2, with the same bytes; never looks into a payload but for the one field that nghttp2 does
 * not report.
 */
#include "proto/h2_frames.h"

#include <string.h>

enum { DATA = 0, PRIORITY = 2, PRIORITY_LENGTH = 5 };

/* A stream's identifier, without the reserved bit, or the exclusive one. */
static int32_t stream_id(const uint8_t *p)
{
	return (int32_t)((uint32_t)(p[0] & 0x7f) << 24 | (uint32_t)p[1] << 16 |
			 (uint32_t)p[2] << 8 | p[3]);
}

static uint32_t length(const uint8_t *head)
{
	return (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
}

/* Takes bytes of the head up to want of them. */
static size_t take(struct h2_frames *s, const uint8_t *p, size_t n, unsigned want)
{
	size_t k = n < want - s->have ? n : want - s->have;

	memcpy(s->head + s->have, p, k);
	s->have += (unsigned)k;
	return k;
}

/* The head (and what else was wanted) is complete: what is it, and how far is the next one? */
static enum h2_frames_found complete(struct h2_frames *s)
{
	enum h2_frames_found found = H2_FRAMES_NOTHING;

	if (s->have == H2_FRAMES_BYTES && stream_id(s->head + 5) == stream_id(s->head + 9))
		found = H2_FRAMES_SELF;
	else if (s->head[3] == DATA)
		found = H2_FRAMES_DATA;
	s->skip = length(s->head) - (s->have - H2_FRAMES_HEAD);
	s->have = 0;
	return found;
}

size_t h2_frames_scan(
	struct h2_frames *s, const uint8_t *p, size_t n, enum h2_frames_found *found, int32_t *id)
{
	size_t done = 0;

	*found = H2_FRAMES_NOTHING;
	while (done < n && *found == H2_FRAMES_NOTHING) {
		unsigned want = H2_FRAMES_HEAD;

		if (s->skip > 0) {
			uint32_t k = n - done < s->skip ? (uint32_t)(n - done) : s->skip;

			s->skip -= k;
			done += k;
			continue;
		}
		if (s->have >= H2_FRAMES_HEAD)
			want = H2_FRAMES_BYTES;
		done += take(s, p + done, n - done, want);
		if (s->have < want)
			continue;
		if (want == H2_FRAMES_HEAD && s->head[3] == PRIORITY &&
			length(s->head) == PRIORITY_LENGTH)
			continue;
		*id = stream_id(s->head + 5);
		*found = complete(s);
	}
	return done;
}
