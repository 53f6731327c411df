/*
 * h2_window: how much of request bodies a client may send before it is taken (RFC 9113, 5.2): the
 * windows of a connection and of its uploads, what they grow to, and what all of a worker's may
 * come to. h2_stream.c tells it what came, what was taken, and who is ready for more; h2.c brings
 * the answers to its PINGs. Never sees a byte of a body.
 */
#ifndef H2D_PROTO_H2_WINDOW_H
#define H2D_PROTO_H2_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ahead.h"
#include "proto/h2_path.h"

struct h2;
struct h2_stream;

/* The window of a connection. Zeroed, it has what RFC 9113, 6.9.2 gives it. */
struct h2_window {
	uint32_t size;   /* of the connection; 0: no upload had it widened yet */
	uint32_t shares; /* of its uploads, the sum */
	unsigned nlong;  /* streams with bodies that may need a wider window */
	uint64_t rest;   /* bytes of its uploads that are to come, as far as windows go */
	size_t held;     /* bytes that came and that nobody has taken */
	size_t lent;     /* of those, whose credit the connection has back nevertheless */
	uint64_t came;   /* bytes, ever */
	uint32_t grown;  /* what the path took once: the next upload begins with that */

	/* Its part of the worker's sum: all that it may have in memory beyond AHEAD_FREE, unless
	 * that was withdrawn. */
	struct ahead_part ahead;
	bool full;           /* more came, and nothing is read: see h2_window_full() */
	bool narrow;         /* there was no room for a wide window, or it was withdrawn */
	uint64_t narrow_for; /* once came is so much, a wide one is asked for again */

	struct h2_path path; /* as far as it is known */
};

/* The share of a stream. */
struct h2_share {
	bool counted;      /* in nlong */
	bool wide;         /* somebody takes its body, which may need a wider window */
	uint64_t rest;     /* of its body: what the connection's rest has of this one */
	uint32_t size;     /* of its window, once it is wider than the first */
	size_t held, lent; /* as above */
};

/* A connection begins. */
void h2_window_open(struct h2 *h2);
/* The header section of s came: its body is to come. */
void h2_window_expect(struct h2_stream *s);
/* Somebody is ready for the body of s, as much as there is. */
void h2_window_widen(struct h2_stream *s);
/* n bytes of the body of s came, and are not taken yet. */
void h2_window_came(struct h2_stream *s, size_t n);
/* n of those were taken. */
void h2_window_taken(struct h2_stream *s, size_t n);
/* Sees to it that other streams than those that nobody takes can send. False: there is no room for
 * that, and s holds some of what is in the way. */
bool h2_window_make_way(struct h2_stream *s);
/* More came than the connection has a part of the worker's sum for, which was withdrawn: what
 * comes behind it is read when there is room again. */
bool h2_window_full(struct h2 *h2);
/* A PING was answered. */
void h2_window_answered(struct h2 *h2, const uint8_t opaque[8]);
/* The stream is over; the connection is. */
void h2_window_leave(struct h2_stream *s);
void h2_window_close(struct h2 *h2);

#endif
