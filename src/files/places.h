/*
 * places: how many files a worker may have open for its responses and uploads, and who may have how
 * many of them: an account a part of what is left (request/budget.h), and a connection, beneath
 * that, PLACES_SHARE. A response lends its place while nothing reads its file: who finds none is
 * given one that is lent, out of his own or of the account that holds most, the one that nobody has
 * read by for longest. Who gets none waits: clients take turns, then their connections. For disk*.c
 * and store*.c.
 */
#ifndef H2D_FILES_PLACES_H
#define H2D_FILES_PLACES_H

#include "event/loop.h"
#include "request/budget.h"

enum {
	PLACES_SHARE = 16,       /* of one connection */
	PLACES_LEAST = 16,       /* of an account, also where few are left */
	PLACES_MAX = 4096,       /* until places_limit() says otherwise */
	PLACES_UPLOAD_MS = 2000, /* an upload has its place for so long at least */
};

/* What one connection has. Zeroed, it is empty, but for its lists: place_share_init(). */
struct place_share {
	unsigned held;
	struct list line; /* struct place: those that wait */
	struct list lent; /* struct place: who has not read for longest is the first */
	struct list node; /* with a line: in that of the account whose place came first */
	struct account_part *client; /* … that account's part */
};

struct places {
	unsigned max;
	struct budget files, uploads;
	unsigned coming; /* were taken back, and their files are being closed */
	/* struct account_part with a line: whose turn is next is the first. Those that hold no
	 * upload come before the others. */
	struct list poor, clients;
	struct account_part nobody; /* for places of no account */
	struct place_share alone;   /* … and of no connection */
	struct loop *loop;
	struct task turns;
};

struct place {
	struct place_share *share; /* NULL: no connection has it any more */
	struct account *account;   /* NULL: it is held for nobody */
	bool upload;               /* set before it is taken; never lent, but see places_look() */
	bool held, waits, lent;
	bool promised;     /* it waits, and one that was taken back is to be its own */
	bool coming;       /* it was taken back, and its file is being closed */
	bool rests;        /* lent, and its peer takes nothing now */
	struct list node;  /* in its share's line, or among those that it has lent */
	struct list mine;  /* lent, or an upload's: in the list of its account's part */
	uint64_t since_ms; /* of an upload: when it got its place */
	void (*granted)(struct place *p); /* after places_take() said that it waits */
	/* A lent one is needed elsewhere. True: its file is closed; false: places_drop() comes. */
	bool (*back)(struct place *p);
	/* Of an upload: bytes that have come; PLACES_BUSY: it is not to be ended now. */
	uint64_t (*came)(struct place *p);
};

#define PLACES_BUSY UINT64_MAX

void places_init(struct places *all, struct loop *loop);
/* Asserts that none is held. */
void places_fini(struct places *all);
void places_limit(struct places *all, unsigned max);

/*
 * For once a second. While uploads wait, the one that comes slowest ends (back() is called), of the
 * accounts that hold most: one for each connection that waits.
 */
void places_look(struct places *all);

void place_share_init(struct place_share *s);

/* Those that are held. */
unsigned places_held(const struct places *all);

/*
 * For share and account; NULL: it is counted for the worker alone. True: held. False: p->granted
 * comes, in a later turn.
 */
bool places_take(
	struct places *all, struct place_share *share, struct account *account, struct place *p);

/* The same where one is free: nobody gives one back for it. False: not held, and does not wait. */
bool places_try(
	struct places *all, struct place_share *share, struct account *account, struct place *p);

/* p was read by just now, and is lent from here on. */
void places_lend(struct places *all, struct place *p);

/* Its peer takes nothing now; until it is read by the next time. */
void places_rest(struct places *all, struct place *p);

/* p is in use, until it is lent again. */
void places_keep(struct place *p);

/* After back() said false: it is free for others, and may be taken again. */
void places_drop(struct places *all, struct place *p);

/* The connection needs it no more: p waits no longer, and if it is held, worker and account have
 * it. */
void places_leave(struct places *all, struct place *p);

/* After places_leave(): if it is held, it is free for others. */
void places_give(struct places *all, struct place *p);

#endif
