/*
 * doubt_client: tells every keeper whose images some worker may be using that a name changed, and
 * when none of those images says any more that it is fresh. A keeper that does not answer is waited
 * for as long as a worker uses images without its ticks (IMAGE_TICK_MAX_MS), no longer; one that
 * said farewell is not waited for. Used on the worker's loop; never blocks.
 */
#ifndef H2D_FILES_DOUBT_CLIENT_H
#define H2D_FILES_DOUBT_CLIENT_H

#include "base/slice.h"
#include "event/loop.h"
#include "image/doubt.h"

enum { DOUBT_KEEPERS = 8 }; /* of generations that come and go within a second */

struct doubt_keeper {
	struct doubt_client *client;
	struct watch watch; /* on where it reads; for its end */
	uint64_t gone_ms;   /* when it ended, 0: none did whose images may still be used */
};

struct doubt_client {
	struct loop *loop;
	struct doubt_keeper keepers[DOUBT_KEEPERS];
	struct watch answers;
	int answer;        /* the end that keepers are given */
	struct list asked; /* oldest first */
	struct timer due;  /* of the oldest, or of what found a queue full */
	uint64_t ids;
};

/* A question that is asked; the asker's memory. */
struct doubt {
	uint64_t dev, ino;             /* of the root */
	struct slice path;             /* "/dir/name"; stays until done() */
	void (*done)(struct doubt *d); /* d is the asker's again */

	struct list node; /* the client's, as is what follows */
	uint64_t id, due_ms;
	uint8_t waits;  /* bit set: keepers without an answer */
	uint8_t unsent; /* of them: their queue was full */
};

/* 0, or -errno. */
int doubt_client_init(struct doubt_client *c, struct loop *loop);

/* Ends the client; questions that have no answer yet are done(). */
void doubt_client_fini(struct doubt_client *c);

/* Another keeper is to be told from now on; takes fd, also on failure (which is logged). */
void doubt_client_add(struct doubt_client *c, int fd);

/* True: done() is called later. False: no keeper, so nothing to wait for. */
bool doubt_client_ask(struct doubt_client *c, struct doubt *d);

/* The asker went away: done() is not called any more. Harmless behind done(). */
void doubt_client_cancel(struct doubt *d);

#endif
