/*
 * sessions: all connections of a worker, of whatever kind. The worker owns it, and asks, drains and
 * cuts them all by it.
 */
#ifndef H2D_SESSION_SESSIONS_H
#define H2D_SESSION_SESSIONS_H

#include "event/loop.h"
#include "session/session.h"
#include "share/holding.h"

/* Milliseconds. */
struct session_timeouts {
	uint64_t handshake, header, body, send, keepalive;
};

struct sessions {
	struct loop *loop;
	struct accounts *accounts;
	struct holding connections; /* of clients; zeroed: nothing is counted */
	struct session_timeouts timeouts;
	struct list live; /* struct session */
	unsigned nlive;
	unsigned nadmin; /* of them, those of admin listeners */
	/* struct session of listeners that are not admin. silent: the first header section is not
	 * there yet, in the order of opened_ms; idle: the longest idle one first; leaving: told to
	 * make room. */
	struct list silent, idle, leaving;
	unsigned nleaving;
	bool full;     /* connections wait: one that becomes idle may make room */
	bool draining; /* new ones too */
	bool cutting;  /* and not to their end */
	void (*gone)(
		struct sessions *all); /* there is room: a session ended, or is idle; may be NULL */
};

void sessions_init(struct sessions *all, struct loop *loop);

/* Asserts that none is left. */
void sessions_fini(struct sessions *all);

/* All leave, also those that are yet to come. */
void sessions_drain(struct sessions *all);

/* All end now. */
void sessions_cut(struct sessions *all);

/*
 * Asks all that they hold for a lender: what is made and not sent, and the sources of their
 * responses. One that holds made output which is refused ends.
 */
void sessions_ask(struct sessions *all, struct lender *lender);

/* Called about once a second: ends what peers have held up for too long. */
void sessions_tick(struct sessions *all);

/*
 * A full worker has one leave, so that a new client need not wait: one that is silent for a second
 * and has nothing in its socket, else the longest idle one, by the rules of the keepalive timeout.
 * Whether one may leave now; if none may, time alone may bring one.
 */
bool sessions_may_evict(const struct sessions *all);

/* Has it leave, if there is one. It may be dead by then. */
void sessions_evict(struct sessions *all);

/* Connections of admin listeners are no load. */
static inline unsigned sessions_load(const struct sessions *all)
{
	return all->nlive - all->nadmin;
}

#endif
