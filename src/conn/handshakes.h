/*
 * handshakes: a worker's TLS handshakes. They take memory before any request, so slow ones need
 * places, of which each client has a share. A burst of new ones is not limited: ten thousand
 * clients may return at once, and by one address. Stream_env has them, and stream_handshake.c
 * begins one.
 */
#ifndef H2D_CONN_HANDSHAKES_H
#define H2D_CONN_HANDSHAKES_H

#include "share/budget.h"

struct stream_conn;

struct handshakes {
	struct budget budget; /* places; an account has half of the rest, or 16 */
	struct list fresh;    /* without a place; struct stream_conn, the oldest first */
	struct list slow;     /* with a place: STREAM_SLOW */
};

/* max: places. */
void handshakes_init(struct handshakes *h, unsigned max);

/*
 * Begins or continues the handshake of c. Others that began more than a second ago, and wait for
 * their clients, take a place now; one that finds none in its client's share is closed, and if all
 * are taken the oldest is.
 */
void handshakes_go(struct stream_conn *c);

/* Ends it, or c's; harmless if it never began. */
void handshakes_end(struct stream_conn *c);

#endif
