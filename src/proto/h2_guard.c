/*
 * h2_guard: prices, and credit by time. Called by h2_frames.c for each frame, by h2_recv.c and
 * h2_end.c for acts that no frame's head shows.
 */
#include "proto/h2_guard.h"

enum { SECTION_FREE = 8192 }; /* decoded bytes allowed for a section of any length on the wire */

/* Types and flags of frames (RFC 9113, 6). */
enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE };
enum { CONTINUATION = 9, END_STREAM = 0x1, PADDED = 0x8 };

static unsigned data_price(const uint8_t *head)
{
	uint32_t length = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];

	if (head[4] & END_STREAM)
		return 0;
	if (length == 0)
		return H2_GUARD_ANSWER;
	return length < H2_GUARD_CONTENT || head[4] & PADDED ? H2_GUARD_IDLE : 0;
}

unsigned h2_guard_price(const uint8_t *head)
{
	switch (head[3]) {
	case DATA:
		return data_price(head);
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
