/*
 * acceptor: with dispatch = acceptor, the process that accepts the connections of all public
 * listeners and passes each to a worker; it never reads from a connection.
 */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "board/board.h"
#include "ipc/fdpass.h"
#include "server/worker.h"

/* Accepts from CTL_SERVE to CTL_DRAIN; the exit status of the process. */
int acceptor_run(const struct gifts *args);

/*
 * acceptor_balance: chooses a connection's worker, by the key `balance`: a pure function of the
 * workers' facts and the peer. The acceptor calls it for each connection; it reads no process and
 * keeps only whose turn it is.
 */

struct acceptor_balance {
	/*
	 * An IPv4 address, or an IPv6 network of 64 bits, keeps its worker: the end of a worker
	 * moves only its own peers. Else, and for peers without an address, the one with the fewest
	 * connections is chosen.
	 */
	bool by_source;
	unsigned next; /* slot of the next turn among equal ones */
};

/* A worker slot. */
struct acceptor_choice {
	bool open;     /* it may be given a connection */
	bool behind;   /* not open, but its worker has just taken some, and soon will be */
	unsigned load; /* connections that it has or will get */
};

/*
 * Closes workers with a few connections more than one behind, until that one is open, except by
 * source. Else those that a processor runs first would get most of many at once.
 */
void acceptor_balance_hold(
	const struct acceptor_balance *b, struct acceptor_choice *choices, unsigned n);

/* The slot, and advances the turn; -1: none is open. */
int acceptor_balance_pick(struct acceptor_balance *b, const struct acceptor_choice *choices,
	unsigned n, const struct addr *peer);

/*
 * acceptor_inbox: the acceptor's side of one worker slot: its inbox, the connections waiting there,
 * and those not sent yet. At most ACCEPTOR_CREDITS wait in an inbox. A worker's own numbers (struct
 * board_slot, load) may be forged: so it can get fewer connections or more, but never more waiting
 * ones.
 */

enum { ACCEPTOR_CREDITS = FDPASS_MAX };

struct acceptor_inbox {
	int ends[2];                    /* of scm_pair() */
	struct board_worker behind;     /* its reader; the slot is NULL without one */
	uint32_t sent;                  /* connections for it so far, with unsent ones */
	unsigned bound;                 /* the most that can wait, whatever the worker reports */
	uint64_t open_ms;               /* last time it was open */
	struct fdpass hand[FDPASS_MAX]; /* accepted for it, not sent yet */
	unsigned nhand;
};

/* Sets the slot's worker, which may be a new process, or none. */
void acceptor_inbox_behind(struct acceptor_inbox *in, struct board_worker behind);

/*
 * The inbox for acceptor_balance_pick(). Draining workers are open when all of them drain: they
 * still read connections. An inbox without room is not open.
 */
struct acceptor_choice acceptor_inbox_choice(struct acceptor_inbox *in, bool draining);

/* Called every second: counts the waiting ones, of which a neighbour may have taken some. */
void acceptor_inbox_look(struct acceptor_inbox *in);

/* Adds a connection to the unsent ones; only if it is open. */
void acceptor_inbox_put(struct acceptor_inbox *in, const struct fdpass *conn);

/* Sends unsent ones. 0, or -errno: some remain, and may be sent later. */
int acceptor_inbox_flush(struct acceptor_inbox *in);
