/* sessions: all connections of a worker, of any kind. */
#pragma once

#include "event/loop.h"
#include "session/session.h"
#include "share/tally.h"

struct sessions {
	struct loop *loop;
	struct accounts *accounts;
	struct holding connections; /* of clients; zeroed: not counted */
	struct list live;           /* struct session */
	unsigned nlive;
	unsigned nadmin; /* of those, on admin listeners */
	/* struct session, except of admin listeners. silent: before the first header section, in
	 * the order of opened_ms; idle: the longest idle one first; leaving: told to leave. */
	struct list silent, idle, leaving;
	unsigned nleaving;
	bool full;     /* connections wait: one that becomes idle may be evicted */
	bool draining; /* new ones too */
	bool cutting;  /* without waiting for their end */
	void (*gone)(
		struct sessions *all); /* there is room: a session ended, or is idle; may be NULL */
};

void sessions_init(struct sessions *all, struct loop *loop);

/* Asserts that none is left. */
void sessions_fini(struct sessions *all);

/* Drains all, also later ones. */
void sessions_drain(struct sessions *all);

/* Ends all now. */
void sessions_cut(struct sessions *all);

/*
 * Asks all for memory of a lender: unsent output, and the sources of their responses. One whose
 * output is refused ends.
 */
void sessions_ask(struct sessions *all, struct lender *lender);

/* Called about once a second: ends those stalled by their peers. */
void sessions_tick(struct sessions *all);

/*
 * A full worker evicts one, so that a new client need not wait: one that is silent for a second
 * with an empty socket, else the longest idle one, by the rules of the keepalive timeout. True if
 * one may leave now; if none may, it may later.
 */
bool sessions_may_evict(const struct sessions *all);

/* Evicts one, if possible. It may be dead on return. */
void sessions_evict(struct sessions *all);
