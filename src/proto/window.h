/*
 * window: limits the request bodies that a HTTP/2 client may send before they are taken: the sizes
 * of the connection's window and of its streams', by bytes received, bytes taken and the path's
 * round trip, within a part of the worker's sum (ahead.h).
 */
#pragma once

#include "proto/ahead.h"
#include "request/body.h"

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
