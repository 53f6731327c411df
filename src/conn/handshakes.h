/*
 * handshakes: TLS handshakes that a worker has under way: how many there may be, and how many of
 * one client. They take memory and time before anything is asked for. Stream_env has them, and
 * stream_handshake.c says when one begins.
 */
#ifndef H2D_CONN_HANDSHAKES_H
#define H2D_CONN_HANDSHAKES_H

#include <stdbool.h>

#include "request/budget.h"

struct stream_conn;

struct handshakes {
	struct budget budget;
	struct list live; /* struct stream_conn, the oldest first */
};

void handshakes_init(struct handshakes *h, unsigned max);

/*
 * The handshake of c begins, or goes on. False: c was closed, for its client has its share under
 * way; or all there may be are under way, and none stands still for long.
 */
bool handshakes_go(struct stream_conn *c);

/* It is over, or c is; harmless if it never began. */
void handshakes_end(struct stream_conn *c);

#endif
