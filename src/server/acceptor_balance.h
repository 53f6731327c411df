/*
 * acceptor_balance: which worker gets a connection, by the key `balance`: a pure function of what
 * is known of the workers and of the peer. The acceptor calls it for each connection; it looks at
 * no process and keeps nothing but whose turn it is.
 */
#ifndef H2D_SERVER_ACCEPTOR_BALANCE_H
#define H2D_SERVER_ACCEPTOR_BALANCE_H

#include <stdbool.h>

#include "base/addr.h"

enum acceptor_balance_mode {
	ACCEPTOR_ROUND_ROBIN,
	ACCEPTOR_LEAST_CONNECTIONS, /* in turn among those that have the fewest */
	/*
	 * An IPv4 address, or an IPv6 network of 64 bits, keeps its worker: a worker that goes
	 * moves its own peers and no other's. Peers without an address are served in turn.
	 */
	ACCEPTOR_SOURCE_HASH,
};

struct acceptor_balance {
	enum acceptor_balance_mode mode;
	unsigned next; /* slot of the next turn */
};

/* A worker slot. */
struct acceptor_choice {
	bool open;     /* it may be given a connection */
	bool behind;   /* not open, but its worker has just taken some, and will be */
	unsigned load; /* connections that it has or will have */
};

/*
 * Least-connections: those that have more than one which is behind, by a few, are not open until
 * that one is. Else the workers that a processor runs first would have most of many that come at
 * once.
 */
void acceptor_balance_hold(
	const struct acceptor_balance *b, struct acceptor_choice *choices, unsigned n);

/* The slot, and it is another's turn then; -1: none is open. */
int acceptor_balance_pick(struct acceptor_balance *b, const struct acceptor_choice *choices,
	unsigned n, const struct addr *peer);

#endif
