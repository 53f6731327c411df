/*
 * h2_window: see h2_window.h. What clients may send at all is promised out of one sum per worker,
 * so that no number of them can fill its memory, however slow the disk or a handler is.
 */
#include "proto/h2_window.h"

#include <string.h>

#include "base/counters.h"
#include "proto/h2.h"

enum {
	START = 1 << 20, /* with less, a fast network stands still most of the time */
	PROMISED_MIN = 128 << 20,
	PROMISED_LIMITS = 8, /* so many times receive-window, if that is more */
	LONG_MS = 2,         /* of a round trip: in less, START is as much as 4 Gbit/s take */
	PROBE_MS = 10,       /* between two PINGs, at least */
	TRIPS = 2, /* that are to be known: one may be long because this machine is busy */
	PROBES_PER_WINDOW = 8, /* at most */
	KEPT_PART = 16,        /* of receive-window, what no stream's window is made of */
	LEFT_PART = 8,         /* of the rest, what each stream leaves to later ones */
	GROWTH = 4,
	ANNOUNCED_PART = 4,
};

static const uint8_t probe[8] = { 'h', '2', 'd', 'w', 'i', 'd', 't', 'h' };

/* Bytes beyond the first windows of all connections, and what was lent: of this worker. */
static uint64_t promised;

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t limit_of(const struct h2 *h2)
{
	return h2->conf->receive_window > NGHTTP2_INITIAL_WINDOW_SIZE ? h2->conf->receive_window
								      : NGHTTP2_INITIAL_WINDOW_SIZE;
}

static uint64_t promised_max(const struct h2 *h2)
{
	uint64_t n = (uint64_t)PROMISED_LIMITS * limit_of(h2);

	return n > PROMISED_MIN ? n : PROMISED_MIN;
}

static void promise(int64_t n)
{
	promised += (uint64_t)n;
	COUNT(receive_windows, n);
}

static uint32_t size_of(const struct h2 *h2)
{
	return h2->window.size > 0 ? h2->window.size : NGHTTP2_INITIAL_WINDOW_SIZE;
}

/* What the connection may have beyond its window and what is lent. */
static uint64_t room_of(const struct h2 *h2)
{
	uint64_t used = size_of(h2) + h2->window.lent;

	return used < limit_of(h2) ? limit_of(h2) - used : 0;
}

/* What the worker may promise, part of its sum being kept. */
static uint64_t room_in(const struct h2 *h2, uint64_t kept)
{
	uint64_t most = promised_max(h2) - kept;

	return promised < most ? most - promised : 0;
}

/* --- how wide --------------------------------------------------------------------------------- */

/*
 * A stream that nobody takes holds all that its window lets come. So all of them are less than what
 * the connection may come to, and each leaves something to the next.
 */
static void set_share(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;
	uint64_t limit = limit_of(h2), rest = limit - limit / KEPT_PART;
	uint32_t others = h2->window.shares - s->share.size, size;

	rest = others < rest ? rest - others : 0;
	size = (uint32_t)least(h2->window.size, rest - rest / LEFT_PART);
	if (size <= s->share.size || size <= NGHTTP2_INITIAL_WINDOW_SIZE)
		return;
	h2->window.shares += size - s->share.size;
	s->share.size = size;
	nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, s->id, (int32_t)size);
	h2->host->wake(h2->host);
}

static void set_shares(struct h2 *h2)
{
	LIST_FOREACH(node, &h2->streams)
		if (LIST_ENTRY(node, struct h2_stream, node)->share.wide)
			set_share(LIST_ENTRY(node, struct h2_stream, node));
}

static void set_size(struct h2 *h2, uint32_t size)
{
	promise((int64_t)size - size_of(h2));
	h2->window.size = size;
	nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0, (int32_t)size);
	set_shares(h2);
	h2->host->wake(h2->host);
}

/* Where a worker's sum is used up, connections stay with what they have. */
void h2_window_widen(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;
	uint32_t size = (uint32_t)least(START, limit_of(h2));

	if (s->share.wide || s->req.body_length <= NGHTTP2_INITIAL_WINDOW_SIZE)
		return;
	if (h2->window.size == 0 && room_in(h2, 0) < size)
		return;
	s->share.wide = true;
	if (h2->window.size == 0)
		set_size(h2, size);
	else
		set_share(s);
}

/*
 * Half of the sum is for growth, so that there is the first share for connections that come later.
 */
static void grow(struct h2 *h2, uint64_t want)
{
	uint64_t size = h2->window.size;

	want = least(want, size + least(room_of(h2), room_in(h2, promised_max(h2) / 2)));
	if (want > size)
		set_size(h2, (uint32_t)want);
}

/* --- what the path takes ---------------------------------------------------------------------- */

/*
 * A PING goes out while a body comes, and its answer tells how long the path is and how much came
 * meanwhile. The least of those times is the path's own: later ones are as long as what the client
 * has in line in front of the answer.
 */
static void ask(struct h2 *h2)
{
	struct h2_window *w = &h2->window;

	if (w->asked || w->size == 0 || room_of(h2) == 0)
		return;
	if (w->trips > 0 && w->rtt_ms < LONG_MS)
		return;
	if (w->asked_ms > 0 && (h2->now_ms - w->asked_ms < PROBE_MS ||
				       w->came - w->asked_came < w->size / PROBES_PER_WINDOW))
		return;
	w->asked = true;
	w->asked_ms = h2->now_ms;
	w->asked_came = w->came;
	w->held_most = w->held;
	nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, probe);
	h2->host->wake(h2->host);
}

/*
 * Where more than half of the window is on the way, the client may be waiting for it: what comes
 * next shows whether it was, two round trips later. A client that is held up by the disk has no use
 * for a wider one.
 */
static void measure(struct h2 *h2)
{
	struct h2_window *w = &h2->window;
	uint64_t ms = h2->now_ms - w->asked_ms, on_the_way;

	if (w->trips++ == 0 || ms < w->rtt_ms)
		w->rtt_ms = ms;
	if (w->trips < TRIPS || w->rtt_ms < LONG_MS || w->held_most > w->size / 2)
		return;
	on_the_way = (w->came - w->asked_came) * w->rtt_ms / ms;
	if (on_the_way > w->size / 2)
		grow(h2, GROWTH * on_the_way);
}

void h2_window_answered(struct h2 *h2, const uint8_t opaque[8])
{
	if (!h2->window.asked || memcmp(opaque, probe, sizeof(probe)) != 0)
		return;
	h2->window.asked = false;
	measure(h2);
}

/* --- what is held ----------------------------------------------------------------------------- */

/* nghttp2 gives credit back by halves of a window, so what stays out must be less than that. */
static bool is_in_the_way(const struct h2 *h2)
{
	return h2->nstreams > 1 &&
	       nghttp2_session_get_local_window_size(h2->session) < (int32_t)(size_of(h2) / 4 * 3);
}

/* Of what s holds, as much as the connection and the worker have room for. */
static void lend(struct h2_stream *s)
{
	struct h2_window *w = &s->h2->window;
	size_t n = (size_t)least(
		s->share.held - s->share.lent, least(room_of(s->h2), room_in(s->h2, 0)));

	if (n == 0)
		return;
	s->share.lent += n;
	w->lent += n;
	promise((int64_t)n);
	nghttp2_session_consume_connection(s->h2->session, n);
	s->h2->host->wake(s->h2->host);
}

/*
 * What a stream holds must not shut the connection's window: others may have what it waits for,
 * and their ends are to come. Its own window is the bound.
 */
bool h2_window_make_way(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;

	if (!is_in_the_way(h2))
		return true;
	LIST_FOREACH(node, &h2->streams)
		if (is_in_the_way(h2))
			lend(LIST_ENTRY(node, struct h2_stream, node));
	return !is_in_the_way(h2) || s->share.held == s->share.lent;
}

void h2_window_came(struct h2_stream *s, size_t n)
{
	s->share.held += n;
	s->h2->window.held += n;
	s->h2->window.came += n;
	if (s->h2->window.held_most < s->h2->window.held)
		s->h2->window.held_most = s->h2->window.held;
	ask(s->h2);
}

/* Of n bytes, those that the connection has its credit of: how many. */
static size_t give_back(struct h2_stream *s, size_t n)
{
	n = n < s->share.lent ? n : s->share.lent;
	s->share.lent -= n;
	s->h2->window.lent -= n;
	promise(-(int64_t)n);
	return n;
}

/*
 * nghttp2 announces credit once it is half of a window, so that a client stands still on a path
 * that has more than half of it on the way: on long ones a quarter is announced.
 */
static void announce(nghttp2_session *session, int32_t id, uint32_t size, int64_t untold)
{
	if (size > START && untold > (int64_t)(size / ANNOUNCED_PART))
		nghttp2_submit_window_update(session, NGHTTP2_FLAG_NONE, id, (int32_t)untold);
}

static void announce_all(const struct h2_stream *s)
{
	nghttp2_session *session = s->h2->session;
	const struct h2_window *w = &s->h2->window;
	int64_t held = (int64_t)(w->held - w->lent);

	announce(session, 0, w->size,
		w->size - held - nghttp2_session_get_local_window_size(session));
	announce(session, s->id, s->share.size,
		s->share.size - (int64_t)s->share.held -
			nghttp2_session_get_stream_local_window_size(session, s->id));
}

static void let_go(struct h2_stream *s, size_t n)
{
	s->share.held -= n;
	s->h2->window.held -= n;
}

void h2_window_taken(struct h2_stream *s, size_t n)
{
	nghttp2_session *session = s->h2->session;
	size_t back;

	n = n < s->share.held ? n : s->share.held;
	back = give_back(s, n);
	let_go(s, n);
	if (back > 0)
		nghttp2_session_consume_stream(session, s->id, back);
	if (n > back)
		nghttp2_session_consume(session, s->id, n - back);
	announce_all(s);
	s->h2->host->wake(s->h2->host);
}

/* What a handler that is gone has not taken is nobody's. */
void h2_window_leave(struct h2_stream *s)
{
	size_t n = s->share.held, back = give_back(s, n);

	let_go(s, n);
	if (n > back)
		nghttp2_session_consume_connection(s->h2->session, n - back);
	if (s->share.size == 0)
		return;
	s->h2->window.shares -= s->share.size;
	set_shares(s->h2);
}

void h2_window_close(struct h2 *h2)
{
	promise(-(int64_t)(size_of(h2) - NGHTTP2_INITIAL_WINDOW_SIZE));
	h2->window.size = 0;
}
