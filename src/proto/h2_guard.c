/*
 * h2_guard: prices, and credit by time. h2.c scans the peer's bytes beside nghttp2; h2_recv.c and
 * h2_out.c add the acts that no frame's head shows.
 */
#include "proto/h2_guard.h"

#include <string.h>

enum { SECTION_FREE = 8192 }; /* decoded bytes allowed for a section of any length on the wire */

/* Types and flags of frames (RFC 9113, 6). */
enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE };
enum { CONTINUATION = 9, END_STREAM = 0x1, PADDED = 0x8, PRIORITY_LENGTH = 5 };

static uint32_t length(const uint8_t *head)
{
	return (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
}

unsigned h2_guard_price(const uint8_t *head)
{
	uint32_t n = length(head);

	switch (head[3]) {
	case DATA:
		if (head[4] & END_STREAM)
			return 0;
		if (n == 0)
			return H2_GUARD_ANSWER;
		return n < H2_GUARD_CONTENT || head[4] & PADDED ? H2_GUARD_IDLE : 0;
	case HEADERS:
	case RST_STREAM:
	case CONTINUATION:
		return 0;
	case SETTINGS:
	case PING:
		return H2_GUARD_ANSWER;
	default:
		return H2_GUARD_IDLE;
	}
}

unsigned h2_guard_section_price(size_t decoded, size_t wire)
{
	return decoded > SECTION_FREE + wire ? (unsigned)((decoded - SECTION_FREE - wire) / 1024)
					     : 0;
}

void h2_guard_open(struct h2_guard *g, uint32_t most, uint64_t now_ms)
{
	*g = (struct h2_guard){ (int32_t)most, (int32_t)most, now_ms };
}

void h2_guard_fill(struct h2_guard *g, uint64_t now_ms)
{
	uint64_t fill = (now_ms - g->filled_ms) * (uint32_t)g->most / 5000;

	if (fill == 0)
		return;
	g->filled_ms = now_ms;
	h2_guard_give(g, fill < (uint32_t)g->most ? (unsigned)fill : (unsigned)g->most);
}

/* --- the frames in the bytes of a peer -------------------------------------------------------- */

/* A stream's identifier, without the reserved bit, or the exclusive one. */
static int32_t stream_id(const uint8_t *p)
{
	uint32_t bits = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];

	return (int32_t)(bits & INT32_MAX);
}

/* Takes bytes of the head, up to want. */
static size_t h2_frames_take(struct h2_frames *s, const uint8_t *p, size_t n, unsigned want)
{
	size_t k = n < want - s->have ? n : want - s->have;

	memcpy(s->head + s->have, p, k);
	s->have += (unsigned)k;
	return k;
}

/* True if the head alone does not identify the frame. */
static bool wants_more(const uint8_t *head)
{
	return head[3] == PRIORITY && length(head) == PRIORITY_LENGTH;
}

/* A head is complete, followed by taken bytes: finds its kind, and the distance to the next. */
static enum h2_frames_found complete(
	struct h2_frames *s, const uint8_t *head, unsigned taken, int32_t *id)
{
	*id = stream_id(head + 5);
	s->skip = length(head) - taken;
	s->have = 0;
	s->price += h2_guard_price(head);
	if (taken > 0 && stream_id(head + 9) == *id)
		return H2_FRAMES_SELF;
	if (s->credit < (int32_t)s->price)
		return H2_FRAMES_DEAR;
	return head[3] == DATA ? H2_FRAMES_DATA : H2_FRAMES_NOTHING;
}

/* Gathers a head that came in parts, and one that needs more bytes. */
static size_t gather(
	struct h2_frames *s, const uint8_t *p, size_t n, enum h2_frames_found *found, int32_t *id)
{
	bool more = s->have >= H2_FRAMES_HEAD;
	unsigned want = more ? H2_FRAMES_BYTES : H2_FRAMES_HEAD;
	size_t k = h2_frames_take(s, p, n, want);

	if (s->have == want && (more || !wants_more(s->head)))
		*found = complete(s, s->head, want - H2_FRAMES_HEAD, id);
	return k;
}

size_t h2_frames_scan(
	struct h2_frames *s, const uint8_t *p, size_t n, enum h2_frames_found *found, int32_t *id)
{
	size_t done = 0;

	*found = H2_FRAMES_NOTHING;
	while (done < n && *found == H2_FRAMES_NOTHING) {
		size_t left = n - done;

		if (s->skip > 0) {
			uint32_t k = left < s->skip ? (uint32_t)left : s->skip;

			s->skip -= k;
			done += k;
		} else if (s->have == 0 && left >= H2_FRAMES_HEAD && !wants_more(p + done)) {
			*found = complete(s, p + done, 0, id);
			done += H2_FRAMES_HEAD;
		} else {
			done += gather(s, p + done, left, found, id);
		}
	}
	return done;
}
