/*
 * window: limits the request bodies that a HTTP/2 client may send before they are taken: the sizes
 * of the connection's window and of its streams', by bytes received, bytes taken and the path's
 * round trip, within a part of the worker's sum.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "request/body.h"
#include "share/line.h"

/*
 * ahead: the bytes of request bodies that clients may send before they are taken, beyond the first
 * 64 KiB of each connection. One sum per worker for both protocols, so that no number of clients
 * fills its memory; each part counts for a client's account. An unused part is withdrawn when
 * another client asks, and the largest account pays for one with next to nothing.
 */

/* Bytes that each connection may send without a part of the sum: RFC 9113, 6.9.2. */
enum { AHEAD_FREE = 65535 };

/* Bytes that an upload begins with: with less, a fast network is idle most of the time. */
enum { AHEAD_FIRST = 1 << 20 };

struct ahead {
	struct line line;    /* without waiting: parts are lent, and given back */
	uint64_t charged_ms; /* when the largest account last paid */
};

/* A part of the sum, for a connection or a request: in its owner's memory, written by window.c
 * alone. */
struct ahead_part {
	struct line_turn turn; /* the client's account: NULL for an admin listener, or a test */
	uint64_t came;         /* bytes since its last use: see ahead_came() */
	bool short_of;         /* the last request for more got less */
	/* Called when another client needs it: gives back, by ahead_give(), all of it that is not
	 * in memory. */
	void (*withdraw)(struct ahead_part *part);
};

/* receive_window: of one connection; the sum is eight of those, 128 MiB at least. */
void ahead_init(struct ahead *a, uint32_t receive_window);

/* Makes an empty part. */
void ahead_part_init(struct ahead_part *part, struct account *account,
	void (*withdraw)(struct ahead_part *part));

/*
 * Takes up to n more for part, or none if there is less than at_least. growth: from its half of the
 * sum, so that later uploads find what they begin with. Returns how much.
 */
uint64_t ahead_take(
	struct ahead *a, struct ahead_part *part, uint64_t at_least, uint64_t n, bool growth);

/* Frees n of part. */
void ahead_give(struct ahead *a, struct ahead_part *part, uint64_t n);

/* Counts n bytes of the bodies of part. */
void ahead_came(struct ahead *a, struct ahead_part *part, size_t n);

/* The window of a connection. */
struct window {
	uint32_t limit;  /* its limit in bytes: receive-window */
	uint32_t size;   /* AHEAD_FREE until an upload widens it */
	uint32_t told;   /* bytes that the client may send at once: the caller sets it before */
	uint32_t grown;  /* bytes that the path took before: the next upload begins with that */
	uint32_t shares; /* of its uploads, the sum */
	unsigned nlong;  /* streams with bodies that may need a wider window */
	uint64_t rest;   /* expected bytes of its uploads, as far as windows go */
	size_t held;     /* bytes that came and are not taken */
	size_t lent;     /* of those, with credit returned to the connection nevertheless */
	uint64_t came;   /* bytes so far */

	struct ahead *sum;
	struct ahead_part ahead; /* all that it may have in memory beyond AHEAD_FREE, unless
				  * withdrawn */
	bool full;               /* more came, and reading stops: see window_full() */
	uint64_t narrow_for; /* there was no room for a wide window, or it was withdrawn: asks again
			      * once came is so much; 0: it is wide */

	/* The path: its shortest round trip, and the bytes taken within one. */
	bool asks;  /* a PING would measure its length, or check it */
	bool asked; /* a PING is under way, since then */
	uint64_t asked_ms;
	uint64_t rtt_ms;      /* UINT64_MAX: unknown */
	uint64_t came_ms;     /* when the last bytes came */
	uint64_t since_ms;    /* beginning of the measured stretch */
	uint64_t since_taken; /* bytes taken by then */
};

/* The share of a stream; zeroed, it has no body. */
struct window_share {
	uint64_t length;   /* of its body; BODY_UNKNOWN */
	uint64_t came;     /* bytes of it */
	uint64_t rest;     /* its part of the connection's rest */
	uint32_t size;     /* of its window, once it is wide; 0: the first one */
	size_t held, lent; /* as above */
	bool counted;      /* in nlong */
	bool wide;         /* its body is being taken, and may need a wider window */
};

/* limit: receive-window. account: the client's. */
void window_open(struct window *w, struct ahead *sum, uint32_t limit, struct account *account);
void window_close(struct window *w);

/* Expects the body of s. */
void window_expect(struct window *w, struct window_share *s);
/* All of the body of s will be taken. True if sizes may have changed. */
bool window_widen(struct window *w, struct window_share *s);
/* n bytes of the body of s came, not yet taken; up to n of those were taken. True if the window has
 * grown. */
bool window_came(struct window *w, struct window_share *s, size_t n, uint64_t now_ms);
bool window_taken(struct window *w, struct window_share *s, size_t n, uint64_t now_ms);
/* The stream is over. True if the shares of others may grow. */
bool window_leave(struct window *w, struct window_share *s);
/* Grows the share of s as far as the connection's window allows. True if it has. */
bool window_share(struct window *w, struct window_share *s);

/* True if untaken bytes are in the way of other streams. */
bool window_in_the_way(const struct window *w);
/* Lends credit for untaken bytes of s, as far as the connection and the worker have room. */
bool window_lend(struct window *w, struct window_share *s);
/* More came than the connection's part of the worker's sum, which was withdrawn: later bytes are
 * read when there is room again. */
bool window_full(struct window *w);

/* A PING is sent; it was answered. */
void window_asked(struct window *w, uint64_t now_ms);
void window_answered(struct window *w, uint64_t now_ms);

/*
 * Credit to announce for a window of size with held untaken bytes, when the client has told; 0: it
 * can wait. eager: the window is wider than before.
 */
uint32_t window_due(uint32_t size, size_t held, int64_t told, bool eager);
