/*
 * doubt_client: tells every keeper whose images a worker may be using that a name changed, and
 * reports when none of those images has it as fresh. A keeper that does not answer is awaited only
 * as long as a worker uses images without its ticks (IMAGE_TICK_MAX_MS); one that sent a farewell
 * is not. Used on the worker's loop; never blocks.
 */
#pragma once

#include "base/slice.h"
#include "event/loop.h"
#include "image/doubt.h"

enum { DOUBT_KEEPERS = 8 }; /* of generations within a second */

struct doubt_keeper {
	struct doubt_client *client;
	struct watch watch; /* on its reading end; reports its end */
	uint64_t gone_ms;   /* time of its end, 0: none whose images may still be used */
};

struct doubt_client {
	struct loop *loop;
	struct doubt_keeper keepers[DOUBT_KEEPERS];
	struct watch answers;
	int answer;        /* the descriptor for keepers' answers */
	struct list asked; /* oldest first */
	struct timer due;  /* of the oldest, or of one that met a full queue */
	uint64_t ids;
};

/* A pending doubt; the asker's memory. */
struct doubt {
	uint64_t dev, ino;             /* of the root */
	struct slice path;             /* "/dir/name"; stays until done() */
	void (*done)(struct doubt *d); /* d is the asker's again */
	void *owner;                   /* the asker's */

	struct list node; /* the client's, like the rest */
	uint64_t id, due_ms;
	uint8_t waits;  /* bit set: keepers without an answer */
	uint8_t unsent; /* of those: their queue was full */
};

/* 0, or -errno. */
int doubt_client_init(struct doubt_client *c, struct loop *loop);

/* Ends the client; unanswered doubts are done(). */
void doubt_client_fini(struct doubt_client *c);

/* Adds a keeper to tell; takes fd, also on failure (which is logged). */
void doubt_client_add(struct doubt_client *c, int fd);

/* True: done() comes later. False: no keeper to wait for. */
bool doubt_client_ask(struct doubt_client *c, struct doubt *d);

/* Cancels d: done() will not come. Harmless after done(). */
void doubt_client_cancel(struct doubt *d);
