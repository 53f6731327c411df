/*
 * auth_peer: what each peer has of the line of password checks, and how long its wrong guesses make
 * it wait. A bounded table, kept by auth_queue.c: an IPv4 address is a peer, so are a network of 64
 * bits in IPv6 and all who come over unix sockets. Pure.
 */
#ifndef H2D_REQUEST_AUTH_PEER_H
#define H2D_REQUEST_AUTH_PEER_H

#include "base/addr.h"

enum {
	AUTH_PEERS = 128,       /* more than there can be checks at a time */
	AUTH_FIRST_DELAY = 100, /* ms, after the first wrong guess; twice as long after each more */
	AUTH_DELAY_MAX = 4000,
	AUTH_FORGIVEN_MS = 60000, /* without a wrong guess for so long: as if there was none */
};

struct auth_peer {
	uint8_t id[9];     /* family and address; all zero: nobody's */
	unsigned nline;    /* checks that wait for their turn */
	unsigned nrunning; /* … and that a thread has */
	unsigned failures;
	uint64_t failed_ms; /* the last of them */
	uint64_t ready_ms;  /* no check begins before */
	uint64_t turn;      /* of its last check: the lowest is the next */
};

struct auth_peers {
	struct auth_peer v[AUTH_PEERS];
};

/* The place of addr: it stays his while he has checks. NULL: all others have some. */
struct auth_peer *auth_peers_find(struct auth_peers *t, const struct addr *addr);

/* A guess was wrong: the next check begins later. */
void auth_peer_failed(struct auth_peer *p, uint64_t now_ms);

#endif
