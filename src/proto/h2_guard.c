/*
 * h2_guard: which frames are idle work, and how many of them a connection may send. Called for
 * every frame by h2.c.
 */
#include "proto/h2_guard.h"

/* WINDOW_UPDATE is not among them: a fast download is full of it, and each one is paid by DATA. */
static bool idle_work(const nghttp2_frame_hd *hd)
{
	switch (hd->type) {
	case NGHTTP2_PING:
	case NGHTTP2_SETTINGS:
		return !(hd->flags & NGHTTP2_FLAG_ACK);
	case NGHTTP2_PRIORITY:
	case NGHTTP2_PRIORITY_UPDATE:
		return true;
	case NGHTTP2_DATA:
		return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
	default:
		return false;
	}
}

static bool take(struct h2_guard *g, uint32_t n, uint64_t now_ms)
{
	uint64_t fill = (now_ms - g->filled_ms) * H2_GUARD_PER_SECOND / 1000;

	if (fill > 0) {
		g->filled_ms = now_ms;
		g->credit = fill < H2_GUARD_BURST - g->credit ? g->credit + (uint32_t)fill
							      : H2_GUARD_BURST;
	}
	if (g->credit < n)
		return false;
	g->credit -= n;
	return true;
}

bool h2_guard_frame(struct h2_guard *g, const nghttp2_frame_hd *hd, uint64_t now_ms)
{
	return !idle_work(hd) || take(g, 1, now_ms);
}

bool h2_guard_field(struct h2_guard *g, size_t n, uint64_t now_ms)
{
	return n < H2_GUARD_FIELD || take(g, (uint32_t)(n / H2_GUARD_FIELD), now_ms);
}
