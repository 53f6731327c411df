/*
 * h2_window: see h2_window.h. What a connection may come to hold is its part of the worker's sum
 * (ahead.h). Credit that a client has cannot be taken back: so none is announced beyond what its
 * uploads have yet to send, and whoever sends on without a part is not read (h2_window_full()).
 */
#include "proto/h2_window.h"

#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "proto/h2.h"

enum {
	START = AHEAD_FIRST,
	FREE = AHEAD_FREE,
	KEPT_PART = 32, /* of receive-window, what no stream's window is made of */
	LEFT_PART = 16, /* of the rest, what each stream leaves to later ones */
	GROWTH = 4,
	ANNOUNCED_PART = 8,
};

static const uint8_t probe[8] = { 'h', '2', 'd', 'w', 'i', 'd', 't', 'h' };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t limit_of(const struct h2 *h2)
{
	return h2->conf->receive_window > FREE ? h2->conf->receive_window : FREE;
}

static uint32_t size_of(const struct h2 *h2)
{
	return h2->window.size > 0 ? h2->window.size : FREE;
}

/* Bytes that the client may send at once. */
static uint32_t told_of(const struct h2 *h2)
{
	int32_t n = nghttp2_session_get_local_window_size(h2->session);

	return n > 0 ? (uint32_t)n : 0;
}

/* Bytes that the connection may have beyond its window and what is lent. */
static uint64_t room_of(const struct h2 *h2)
{
	uint64_t used = size_of(h2) + h2->window.lent;

	return used < limit_of(h2) ? limit_of(h2) - used : 0;
}

/* Bytes that it has in memory, or may have with a window of size, beyond what needs no part. A
 * client may have more credit than its window is: from before it shrank. */
static uint64_t needs(const struct h2 *h2, uint64_t size)
{
	const struct h2_window *w = &h2->window;
	uint64_t n = size + w->lent, open = (uint64_t)told_of(h2) + w->held;

	n = open > n ? open : n;
	return n > FREE ? n - FREE : 0;
}

/* Gives back what the connection's part has beyond what is in memory or may come. */
static void settle(struct h2 *h2)
{
	struct ahead_part *part = &h2->window.ahead;
	uint64_t n;

	if (part->held == 0)
		return;
	n = needs(h2, size_of(h2));
	if (part->held > n)
		ahead_give(h2->conf->ahead, part, part->held - n);
}

/* --- how wide --------------------------------------------------------------------------------- */

/*
 * A stream that nobody takes holds all that its window lets come. So all of them are less than what
 * the connection may come to, and each leaves something to the next. Of several none has more than
 * START or about half of an even part; the other half is for those that follow.
 */
static void set_share(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;
	uint64_t limit = limit_of(h2), rest = limit - limit / KEPT_PART;
	uint64_t even = rest / (2 * h2->window.nlong - 1);
	uint32_t others = h2->window.shares - s->share.size, size;

	rest = others < rest ? rest - others : 0;
	size = (uint32_t)least(h2->window.size, even > START ? even : START);
	size = (uint32_t)least(size, rest - rest / LEFT_PART);
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

/* Credit that the client could have. */
static int64_t untold_of(const struct h2 *h2)
{
	const struct h2_window *w = &h2->window;

	return (int64_t)size_of(h2) - (int64_t)(w->held - w->lent) - told_of(h2);
}

/* Announces no more than size. Credit that the client knows of already, it may use. */
static void shrink(struct h2 *h2, uint32_t size)
{
	h2->window.size = size;
	nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0, (int32_t)size);
}

/* nghttp2 does not announce at once by how much a window had shrunk. */
static void set_size(struct h2 *h2, uint32_t size)
{
	int64_t untold;

	shrink(h2, size);
	untold = untold_of(h2);
	if (untold > size / ANNOUNCED_PART)
		nghttp2_submit_window_update(h2->session, NGHTTP2_FLAG_NONE, 0, (int32_t)untold);
	set_shares(h2);
	h2->host->wake(h2->host);
}

/* A window for what is there and what is to come, and the first one for whatever else comes. */
static uint64_t enough(const struct h2 *h2)
{
	const struct h2_window *w = &h2->window;

	return FREE + w->rest + w->held - w->lent;
}

/* Stops announcing credit that no upload has a use for: so behind the last one the client has no
 * more of it than at the beginning. */
static void trim(struct h2 *h2)
{
	uint64_t size = enough(h2);

	if (size < h2->window.size)
		shrink(h2, (uint32_t)size);
}

/* Called by ahead.c, when somebody else needs the part. */
static void withdraw(struct ahead_part *part)
{
	struct h2 *h2 = LIST_ENTRY(part, struct h2, window.ahead);
	struct h2_window *w = &h2->window;
	uint64_t in_memory = w->held > FREE ? w->held - FREE : 0;

	w->narrow = true;
	w->narrow_for = w->came + FREE;
	if (w->size > FREE)
		shrink(h2, FREE);
	if (part->held > in_memory)
		ahead_give(h2->conf->ahead, part, part->held - in_memory);
}

void h2_window_open(struct h2 *h2)
{
	ahead_part_init(&h2->window.ahead, h2->host->conn->account, withdraw);
}

/* Whether the body is more than the first window takes. */
static bool is_long(const struct h2_stream *s)
{
	return s->req.body_length > FREE;
}

static void count_in(struct h2_stream *s)
{
	s->h2->window.nlong += !s->share.counted;
	s->share.counted = true;
}

/* Counts the bytes of the body that are to come, up to a window: there is no need to know of
 * more. */
static void count_rest(struct h2_stream *s)
{
	uint64_t rest = s->req.body_length > s->body ? s->req.body_length - s->body : 0;

	rest = least(rest, limit_of(s->h2));
	s->h2->window.rest += rest - s->share.rest;
	s->share.rest = rest;
}

/* Widens the window to size, as far as there is room in the worker's sum. */
static void grow_to(struct h2 *h2, uint64_t size)
{
	struct ahead_part *part = &h2->window.ahead;
	uint64_t need = needs(h2, size), n = need > part->held ? need - part->held : 0;
	uint64_t got = n > 0 ? ahead_grow(h2->conf->ahead, part, n) : 0;

	if (size > h2->window.size + (n - got))
		set_size(h2, (uint32_t)(size - (n - got)));
	settle(h2);
}

/* Widens the window to size, or not at all where there is no room for that in the worker's sum. */
static bool begin_with(struct h2 *h2, uint64_t size)
{
	struct ahead_part *part = &h2->window.ahead;
	uint64_t need = needs(h2, size);

	if (need > part->held && !ahead_begin(h2->conf->ahead, part, need - part->held))
		return false;
	set_size(h2, (uint32_t)size);
	return true;
}

/* The window that an upload begins with: START, and on a path that took more before, as much as
 * that. */
static void begin(struct h2 *h2)
{
	struct h2_window *w = &h2->window;
	uint64_t most = least(limit_of(h2) - w->lent, enough(h2)), size = least(START, most);

	w->narrow = size > size_of(h2) && !begin_with(h2, size);
	w->narrow_for = 0;
	size = least(w->grown, most);
	if (!w->narrow && size > size_of(h2))
		grow_to(h2, size);
}

/* Where a worker's sum is used up, connections stay with what they have, and ask again. */
void h2_window_widen(struct h2_stream *s)
{
	struct h2_window *w = &s->h2->window;
	bool was_wide = s->share.wide;

	if (!is_long(s) || (was_wide && (!w->narrow || w->came < w->narrow_for)))
		return;
	s->share.wide = true;
	count_in(s);
	count_rest(s);
	begin(s->h2);
	if (!was_wide)
		set_share(s);
}

/* Half of the sum is for growth: see ahead_grow(). */
static void grow(struct h2 *h2, uint64_t want)
{
	struct h2_window *w = &h2->window;

	want = least(want, w->size + room_of(h2));
	if (want > w->grown)
		w->grown = (uint32_t)want;
	want = least(want, w->size + w->rest - least(told_of(h2), w->rest));
	if (want > w->size)
		grow_to(h2, want);
}

/* --- what the path takes ---------------------------------------------------------------------- */

/* A PING goes out before a long body comes and while it does. */
static void ask(struct h2 *h2)
{
	h2_path_asked(&h2->window.path, h2->window.came, h2->now_ms);
	nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, probe);
	h2->host->wake(h2->host);
}

static void ask_again(struct h2 *h2)
{
	struct h2_window *w = &h2->window;

	if (w->size > FREE && room_of(h2) > 0 &&
		h2_path_may_ask(&w->path, w->came, w->size, h2->now_ms))
		ask(h2);
}

void h2_window_expect(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;

	if (!is_long(s))
		return;
	count_in(s);
	/* A body of no known length can wait for its second DATA frame: see ask_again(). */
	if (s->req.body_length == BODY_UNKNOWN)
		return;
	if (h2->window.size <= START && limit_of(h2) > START && !h2->window.path.asked &&
		h2->window.path.trips == 0)
		ask(h2);
}

void h2_window_answered(struct h2 *h2, const uint8_t opaque[8])
{
	if (memcmp(opaque, probe, sizeof(probe)) == 0)
		h2_path_answered(&h2->window.path, h2->now_ms);
}

/* Where more than half of the window is on the way, the client waits for credit, if not now then
 * soon. */
static void measure(struct h2 *h2, uint64_t now_ms)
{
	struct h2_window *w = &h2->window;
	uint64_t on_the_way;

	if (w->size <= FREE || room_of(h2) == 0)
		return;
	on_the_way = h2_path_load(&w->path, w->came, w->held, w->size, now_ms);
	if (on_the_way > w->size / 2)
		grow(h2, GROWTH * on_the_way);
}

/* --- what is held ----------------------------------------------------------------------------- */

/* nghttp2 gives credit back by halves of a window, so what stays out must be less than that. */
static bool is_in_the_way(const struct h2 *h2)
{
	return h2->nstreams > 1 &&
	       nghttp2_session_get_local_window_size(h2->session) < (int32_t)(size_of(h2) / 4 * 3);
}

/* Lends credit for what s holds, as far as the connection and the worker have room. */
static void lend(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;
	struct h2_window *w = &h2->window;
	size_t n = (size_t)least(s->share.held - s->share.lent, room_of(h2));

	if (n > 0)
		n = (size_t)ahead_lend(h2->conf->ahead, &w->ahead, n);
	if (n == 0)
		return;
	s->share.lent += n;
	w->lent += n;
	settle(h2);
	nghttp2_session_consume_connection(h2->session, n);
	h2->host->wake(h2->host);
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
	struct h2 *h2 = s->h2;
	struct h2_window *w = &h2->window;

	s->share.held += n;
	w->held += n;
	w->came += n;
	if (s->share.wide) {
		count_rest(s);
		ahead_came(h2->conf->ahead, &w->ahead, n);
	}
	h2_path_came(&w->path, n, w->came, w->held, h2->now_ms);
	measure(h2, h2->now_ms);
	ask_again(h2);
}

/* Takes n bytes off what is lent, as far as they were. How many. */
static size_t give_back(struct h2_stream *s, size_t n)
{
	n = n < s->share.lent ? n : s->share.lent;
	s->share.lent -= n;
	s->h2->window.lent -= n;
	return n;
}

/* Whether a client with told of a window is to hear of untold more. */
static bool is_due(uint32_t size, int64_t told, int64_t untold)
{
	return size > START && (untold > size / ANNOUNCED_PART || untold > told);
}

/*
 * nghttp2 announces credit once it is half of a window, so that a client stands still on a path
 * that has more than half of it on the way, or where others have as much: of wide ones an eighth is
 * announced. Both windows at once, for each announcement wakes the client.
 */
static void announce(const struct h2_stream *s)
{
	nghttp2_session *session = s->h2->session;
	const struct h2_window *w = &s->h2->window;
	int64_t all = told_of(s->h2), all_untold = untold_of(s->h2);
	int64_t own = nghttp2_session_get_stream_local_window_size(session, s->id);
	int64_t own_untold = (int64_t)s->share.size - (int64_t)s->share.held - own;

	if (!is_due(w->size, all, all_untold) && !is_due(s->share.size, own, own_untold))
		return;
	if (all_untold > 0)
		nghttp2_submit_window_update(session, NGHTTP2_FLAG_NONE, 0, (int32_t)all_untold);
	if (own_untold > 0 && s->share.size > START)
		nghttp2_submit_window_update(
			session, NGHTTP2_FLAG_NONE, s->id, (int32_t)own_untold);
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
	/* All that the client could send may have come before the disk has any of it. */
	measure(s->h2, clock_ms());
	trim(s->h2);
	if (back > 0)
		nghttp2_session_consume_stream(session, s->id, back);
	if (n > back)
		nghttp2_session_consume(session, s->id, n - back);
	announce(s);
	settle(s->h2);
	s->h2->host->wake(s->h2->host);
}

bool h2_window_full(struct h2 *h2)
{
	struct h2_window *w = &h2->window;
	uint64_t need;

	if (w->held <= FREE + w->ahead.held) {
		w->full = false;
		return false;
	}
	need = needs(h2, size_of(h2)) - w->ahead.held;
	ahead_lend(h2->conf->ahead, &w->ahead, need);
	w->full = w->held > FREE + w->ahead.held;
	return w->full;
}

/* Bytes that a handler has not taken are nobody's once it is gone. */
void h2_window_leave(struct h2_stream *s)
{
	size_t n = s->share.held, back = give_back(s, n);

	let_go(s, n);
	if (n > back)
		nghttp2_session_consume_connection(s->h2->session, n - back);
	s->h2->window.nlong -= s->share.counted;
	s->h2->window.rest -= s->share.rest;
	s->share.counted = s->share.wide = false;
	s->share.rest = 0;
	trim(s->h2);
	if (s->share.size > 0) {
		s->h2->window.shares -= s->share.size;
		set_shares(s->h2);
	}
	settle(s->h2);
}

void h2_window_close(struct h2 *h2)
{
	if (h2->window.ahead.held > 0)
		ahead_give(h2->conf->ahead, &h2->window.ahead, h2->window.ahead.held);
}
