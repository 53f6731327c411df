/*
 * window: how much of request bodies the client of a HTTP/2 connection may send before somebody
 * takes it: the sizes of the connection's window and of its streams', by what came, what was taken
 * and how long the path is, within a part of the worker's sum (ahead.h). Bytes and times go in,
 * sizes come out; h2_window.c gives the credit. Never sees a byte of a body.
 */
#ifndef H2D_PROTO_WINDOW_H
#define H2D_PROTO_WINDOW_H

#include "proto/ahead.h"
#include "request/body.h"

/* The window of a connection. */
struct window {
	uint32_t limit;  /* bytes that it may come to: receive-window */
	uint32_t size;   /* AHEAD_FREE until an upload has it widened */
	uint32_t told;   /* bytes that the client may send at once: who calls sets it before */
	uint32_t grown;  /* bytes that the path took once: the next upload begins with that */
	uint32_t shares; /* of its uploads, the sum */
	unsigned nlong;  /* streams with bodies that may need a wider window */
	uint64_t rest;   /* bytes of its uploads that are to come, as far as windows go */
	size_t held;     /* bytes that came and that nobody has taken */
	size_t lent;     /* of those, whose credit the connection has back nevertheless */
	uint64_t came;   /* bytes, ever */

	struct ahead *sum;
	struct ahead_part ahead; /* all that it may have in memory beyond AHEAD_FREE, unless that
				    was withdrawn */
	bool full;               /* more came, and nothing is read: see window_full() */
	uint64_t narrow_for; /* there was no room for a wide window, or it was withdrawn: once came
				is so much, it is asked for again; 0: it is wide */

	/* The path: its least round trip, and how much was taken within one. */
	bool asks;  /* a PING would tell how long it is, or whether it is as long as it seems */
	bool asked; /* a PING is under way, since then */
	uint64_t asked_ms;
	uint64_t rtt_ms;      /* UINT64_MAX: not known yet */
	uint64_t came_ms;     /* when the last bytes came */
	uint64_t since_ms;    /* when the stretch that is measured began */
	uint64_t since_taken; /* bytes that were taken by then, ever */
};

/* The share of a stream; zeroed, it has no body. */
struct window_share {
	uint64_t length;   /* of its body; BODY_UNKNOWN: nobody has said */
	uint64_t came;     /* bytes of it */
	uint64_t rest;     /* bytes of the connection's rest that are this one's */
	uint32_t size;     /* of its window, once it is wide; 0: the first one */
	size_t held, lent; /* as above */
	bool counted;      /* in nlong */
	bool wide;         /* somebody takes its body, which may need a wider window */
};

/* limit: receive-window. account: whose connection it is. */
void window_open(struct window *w, struct ahead *sum, uint32_t limit, struct account *account);
void window_close(struct window *w);

/* The body of s is to come. */
void window_expect(struct window *w, struct window_share *s);
/* Somebody is ready for the body of s, as much as there is. Whether sizes may have changed. */
bool window_widen(struct window *w, struct window_share *s);
/* n bytes of the body of s came, and are not taken yet; up to n of those were taken. Whether the
 * window has grown. */
bool window_came(struct window *w, struct window_share *s, size_t n, uint64_t now_ms);
bool window_taken(struct window *w, struct window_share *s, size_t n, uint64_t now_ms);
/* The stream is over. Whether the shares of others may grow. */
bool window_leave(struct window *w, struct window_share *s);
/* Has the share of s grow as far as the connection's window lets it. Whether it has. */
bool window_share(struct window *w, struct window_share *s);

/* Whether bytes that nobody takes are in the way of other streams. */
bool window_in_the_way(const struct window *w);
/* Lends credit for what s holds, as far as the connection and the worker have room. */
bool window_lend(struct window *w, struct window_share *s);
/* More came than the connection has a part of the worker's sum for, which was withdrawn: what
 * comes behind it is read when there is room again. */
bool window_full(struct window *w);

/* A PING goes out; it was answered. */
void window_asked(struct window *w, uint64_t now_ms);
void window_answered(struct window *w, uint64_t now_ms);

/*
 * Credit to announce for a window of size of which held bytes are not taken, where the client has
 * told; 0: it can wait. eager: the window is wider than it was.
 */
uint32_t window_due(uint32_t size, size_t held, int64_t told, bool eager);

#endif
