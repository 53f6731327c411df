/*
 * acceptor: the process that accepts the connections of all public listeners and passes each to a
 * worker, where `dispatch` is acceptor. A generation has one, with inboxes of its own. The master
 * calls acceptor_run() after the fork; the acceptor reads nothing of a connection.
 */
#ifndef H2D_SERVER_ACCEPTOR_H
#define H2D_SERVER_ACCEPTOR_H

#include <stdbool.h>

#include "base/addr.h"
#include "board/board.h"
#include "ipc/fdpass.h"
#include "server/worker.h"

/* Accepts from CTL_SERVE to CTL_DRAIN; the exit status of the process. */
int acceptor_run(const struct gifts *args);

/*
 * acceptor_balance: which worker gets a connection, by the key `balance`: a pure function of what
 * is known of the workers and of the peer. The acceptor calls it for each connection; it looks at
 * no process and keeps nothing but whose turn it is.
 */

struct acceptor_balance {
	/*
	 * An IPv4 address, or an IPv6 network of 64 bits, keeps its worker: a worker that goes
	 * moves its own peers and no other's. Else, and for peers without an address, it is the one
	 * with the fewest connections.
	 */
	bool by_source;
	unsigned next; /* slot of the next turn among those that have equally few */
};

/* A worker slot. */
struct acceptor_choice {
	bool open;     /* it may be given a connection */
	bool behind;   /* not open, but its worker has just taken some, and will be */
	unsigned load; /* connections that it has or will have */
};

/*
 * Workers with a few connections more than one which is behind are not open until that one is, but
 * by source. Else those that a processor runs first would have most of many that come at once.
 */
void acceptor_balance_hold(
	const struct acceptor_balance *b, struct acceptor_choice *choices, unsigned n);

/* The slot, and it is another's turn then; -1: none is open. */
int acceptor_balance_pick(struct acceptor_balance *b, const struct acceptor_choice *choices,
	unsigned n, const struct addr *peer);

/*
 * acceptor_inbox: the acceptor's side of one worker slot: the inbox it sends to, how many
 * connections wait there, and what it has in hand for it. No more than ACCEPTOR_CREDITS wait in an
 * inbox. What a worker says of itself (struct board_slot, load) may be a lie: by it a worker can
 * have fewer connections or more, but never more that wait.
 */

enum { ACCEPTOR_CREDITS = FDPASS_MAX };

struct acceptor_inbox {
	int ends[2];                    /* of ctl_pair() */
	struct board_worker behind;     /* its reader; the slot is NULL without one */
	uint32_t sent;                  /* connections for it, ever, with those in hand */
	unsigned bound;                 /* no more can be waiting, whatever the worker says */
	uint64_t open_ms;               /* when it was open last */
	struct fdpass hand[FDPASS_MAX]; /* accepted for it, and not sent yet */
	unsigned nhand;
};

/* The slot's worker, which may be another process than before, or none. */
void acceptor_inbox_behind(struct acceptor_inbox *in, struct board_worker behind);

/*
 * The inbox as acceptor_balance_pick() sees it. Draining workers are open when all of them drain:
 * they read what still comes. An inbox without room is not open.
 */
struct acceptor_choice acceptor_inbox_choice(struct acceptor_inbox *in, bool draining);

/* Every second: counts what waits, of which a neighbour may have taken some. */
void acceptor_inbox_look(struct acceptor_inbox *in);

/* Takes a connection into the hand; for one that is open only. */
void acceptor_inbox_put(struct acceptor_inbox *in, const struct fdpass *conn);

/* Sends what is in hand. 0, or -errno: some of it still is, and may be sent later. */
int acceptor_inbox_flush(struct acceptor_inbox *in);

#endif
