/*
 * places: how many files a worker may have open for its responses, and which part of that one
 * connection may have: PLACES_SHARE, and less where few are left, so that a later connection finds
 * some. A response that gets none waits in its connection's line, and connections take turns. For
 * disk*.c.
 */
#ifndef H2D_FILES_PLACES_H
#define H2D_FILES_PLACES_H

#include "event/loop.h"

enum {
	PLACES_SHARE = 16, /* of one connection */
	PLACES_SURE = 4,   /* of that, also where few are left */
	PLACES_PART = 8,   /* beyond: at most this part of what is left */
	PLACES_MAX = 4096, /* until places_limit() says otherwise */
};

/* What one connection has. Zeroed, it is empty, but for list_init() by place_share_init(). */
struct place_share {
	unsigned held;
	struct list line; /* struct place: those that wait */
	struct list node; /* in places.shares while somebody waits */
};

struct places {
	unsigned max, held;
	struct list shares; /* with a line: the next to have its turn is the first */
	struct place_share nobody;
	struct loop *loop;
	struct task turns;
};

struct place {
	struct place_share *share; /* NULL: no connection has it any more */
	bool held, waits;
	struct list node;
	void (*granted)(struct place *p); /* after places_take() said that it waits */
	void (*again)(struct place *p);   /* see places_ask_again(); NULL: it goes on waiting */
};

void places_init(struct places *all, struct loop *loop);
/* Asserts that none is held. */
void places_fini(struct places *all);
void places_limit(struct places *all, unsigned max);

void place_share_init(struct place_share *s);

/* For share, NULL: only the worker's counts. True: held. False: p->granted comes, in a later turn.
 */
bool places_take(struct places *all, struct place_share *share, struct place *p);

/* Calls again() of all that wait: there may be a way without a place now. It may have p leave. */
void places_ask_again(struct places *all);

/* The connection needs it no more: p waits no longer, and if it is held, the worker alone has it.
 */
void places_leave(struct places *all, struct place *p);

/* After places_leave(): if it is held, it is free for others. */
void places_give(struct places *all, struct place *p);

#endif
