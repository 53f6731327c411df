/*
 * h2_window: the credit computed by window.c, in WINDOW_UPDATE frames, and PINGs to measure the
 * path. All credit is given here: nghttp2 only counts it.
 */
#include <string.h>

#include "base/clock.h"
#include "proto/h2.h"

static const uint8_t probe[8] = { 'h', '2', 'd', 'w', 'i', 'd', 't', 'h' };

/* The window, with the credit that the client has. */
static struct window *window_of(struct h2 *h2)
{
	int32_t told = nghttp2_session_get_local_window_size(h2->session);

	h2->window.told = told > 0 ? (uint32_t)told : 0;
	return &h2->window;
}

static void give(struct h2 *h2, int32_t id, uint32_t n)
{
	nghttp2_submit_window_update(h2->session, NGHTTP2_FLAG_NONE, id, (int32_t)n);
	h2->host->wake(h2->host);
}

void h2_window_give(struct h2 *h2, bool eager)
{
	const struct window *w = window_of(h2);
	uint32_t n = window_due(w->size, w->held - w->lent, w->told, eager);

	if (n > 0)
		give(h2, 0, n);
}

static void give_stream(struct h2_stream *s, bool eager)
{
	uint32_t size = s->share.size > 0 ? s->share.size : NGHTTP2_INITIAL_WINDOW_SIZE, n;

	if (s->peer_done)
		return;
	n = window_due(size, s->share.held,
		nghttp2_session_get_stream_local_window_size(s->h2->session, s->id), eager);
	if (n > 0)
		give(s->h2, s->id, n);
}

/* Announces the wider window, and the shares that may grow. */
static void widened(struct h2 *h2)
{
	h2_window_give(h2, true);
	LIST_FOREACH(node, &h2->streams) {
		struct h2_stream *s = LIST_ENTRY(node, struct h2_stream, node);

		if (window_share(&h2->window, &s->share))
			give_stream(s, true);
	}
}

/* --- measuring the path ----------------------------------------------------------------------- */

static void h2_window_ask(struct h2 *h2)
{
	if (!h2->window.asks || h2->window.asked)
		return;
	window_asked(&h2->window, h2->now_ms);
	nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, probe);
	h2->host->wake(h2->host);
}

bool h2_window_answered(struct h2 *h2, const uint8_t opaque[8])
{
	bool asked = h2->window.asked && memcmp(opaque, probe, sizeof(probe)) == 0;

	if (asked)
		window_answered(&h2->window, h2->now_ms);
	return asked;
}

/* --- bytes received and taken ----------------------------------------------------------------- */

void h2_window_expect(struct h2_stream *s)
{
	window_expect(&s->h2->window, &s->share);
	h2_window_ask(s->h2);
}

void h2_window_widen(struct h2_stream *s)
{
	if (window_widen(window_of(s->h2), &s->share))
		widened(s->h2);
}

void h2_window_came(struct h2_stream *s, size_t n)
{
	if (window_came(window_of(s->h2), &s->share, n, s->h2->now_ms))
		widened(s->h2);
	h2_window_ask(s->h2);
}

void h2_window_taken(struct h2_stream *s, size_t n)
{
	if (window_taken(window_of(s->h2), &s->share, n, clock_ms()))
		widened(s->h2);
	h2_window_ask(s->h2);
	h2_window_give(s->h2, false);
	give_stream(s, false);
}

bool h2_window_make_way(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;

	if (h2->nstreams < 2)
		return true;
	LIST_FOREACH(node, &h2->streams) {
		struct h2_stream *other = LIST_ENTRY(node, struct h2_stream, node);

		if (!window_in_the_way(&h2->window))
			return true;
		if (window_lend(window_of(h2), &other->share))
			h2_window_give(h2, false);
	}
	return !window_in_the_way(&h2->window) || s->share.held == s->share.lent;
}

/* Bytes that a handler has not taken lose their owner at its end. */
void h2_window_leave(struct h2_stream *s)
{
	if (s->share.length == 0)
		return;
	if (window_leave(window_of(s->h2), &s->share))
		widened(s->h2);
	h2_window_give(s->h2, false);
}
