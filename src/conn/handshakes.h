/*
 * handshakes: TLS handshakes that a worker has under way. They take memory before anything is asked
 * for, so those that are slow have places, of which each client has a share. A burst of new ones is
 * none: ten thousand clients may come back at once, and by one address. Stream_env has them, and
 * stream_handshake.c says when one begins.
 */
#ifndef H2D_CONN_HANDSHAKES_H
#define H2D_CONN_HANDSHAKES_H

#include "share/budget.h"

struct stream_conn;

struct handshakes {
	struct budget budget; /* places; an account has half of what is left, or 16 */
	struct list fresh;    /* without a place; struct stream_conn, the oldest first */
	struct list slow;     /* with a place: STREAM_SLOW */
};

/* max: places. */
void handshakes_init(struct handshakes *h, unsigned max);

/*
 * The handshake of c begins, or goes on. Others that have begun more than a second ago, and wait
 * for their clients, take a place now; one that finds none in its client's share is closed, and
 * where all are taken the oldest is.
 */
void handshakes_go(struct stream_conn *c);

/* It is over, or c is; harmless if it never began. */
void handshakes_end(struct stream_conn *c);

#endif
