/*
 * places: how many files a worker may have open for its responses and uploads, and who may have how
 * many of them: an account a part of what is left (share/budget.h), and a connection, beneath
 * that, PLACES_SHARE. A response lends its place while nothing reads its file: who finds none is
 * given one that is lent, out of his own or of the account that holds most, the one that nobody has
 * read by for longest. One that was never read by is not taken at once, unless its peer takes
 * nothing. Who gets none waits: clients take turns, then their connections. For disk*.c and
 * store*.c.
 */
#ifndef H2D_FILES_PLACES_H
#define H2D_FILES_PLACES_H

#include "base/states.h"
#include "event/loop.h"
#include "share/line.h"

enum {
	PLACES_SHARE = 16,       /* of one connection */
	PLACES_LEAST = 16,       /* of an account, also where few are left */
	PLACES_MAX = 4096,       /* until places_limit() says otherwise */
	PLACES_UPLOAD_MS = 2000, /* an upload has its place for so long at least */
	PLACES_UNREAD_MS =
		1000, /* and a response, in front of its first read, that does not rest */
};

/* The places of one connection. Zeroed, it has none, but its lists need place_share_init(). */
struct place_share {
	unsigned held;
	struct list lent; /* struct place: the one not read by for longest is the first */
	struct line_group group;
};

struct places {
	unsigned max;
	struct line files; /* both wait here, clients without an upload first */
	struct budget uploads;
	unsigned coming; /* places that were taken back, and whose files are being closed */
	struct place_share alone; /* for places of no connection */
	struct loop *loop;
	struct task turns;
};

enum place_state {
#define PLACE_STATE(name, next, help) PLACE_##name,
#include "files/place_state.def"
	PLACE_STATES
};
extern const struct states place_states;

struct place {
	enum place_state state;
	struct place_share *share; /* NULL: no connection has it any more */
	struct line_turn turn;     /* lent; for an upload since it has its place */
	bool upload;               /* set before it is taken; never lent, but see places_look() */
	bool unread;               /* lent, and nothing was read by it */
	struct list node;          /* among those that its share has lent */
	void (*granted)(struct place *p); /* after places_take() said that it waits */
	/* The place is needed elsewhere. An upload ends; of a lent place the file is closed (true),
	 * or will be, and places_drop() comes (false). */
	bool (*back)(struct place *p);
	/* The bytes of an upload that have come; PLACES_BUSY: it is not to be ended now. */
	uint64_t (*came)(struct place *p);
};

#define PLACES_BUSY UINT64_MAX

static inline bool place_is_held(const struct place *p)
{
	return p->state >= PLACE_HELD;
}

static inline bool place_is_lent(const struct place *p)
{
	return p->state >= PLACE_LENT;
}

void places_init(struct places *all, struct loop *loop);
/* Asserts that no place is held. */
void places_fini(struct places *all);
void places_limit(struct places *all, unsigned max);

/*
 * Called once a second. While uploads wait, the slowest one of the accounts that hold most ends
 * (its back() is called): one for each connection that waits, up to a bound. Who waits looks again
 * for what was lent long enough.
 */
void places_look(struct places *all);

void place_share_init(struct place_share *s);

/* The number of places that are held. */
unsigned places_held(const struct places *all);

/*
 * Takes p for share and account; NULL: it is counted for the worker alone. True: held. False:
 * p->granted comes, in a later turn.
 */
bool places_take(
	struct places *all, struct place_share *share, struct account *account, struct place *p);

/* places_take() where a place is free: nobody gives one back for it. False: p is not held, and does
 * not wait. */
bool places_try(
	struct places *all, struct place_share *share, struct account *account, struct place *p);

/* p is lent from here on. read: its file was, just now; else nothing of it was. */
void places_lend(struct places *all, struct place *p, bool read);

/* p's peer takes nothing now; until p is read by the next time. */
void places_rest(struct places *all, struct place *p);

/* p is in use, until it is lent again. */
void places_keep(struct place *p);

/* p is free for others, and may be taken again; after back() said false. */
void places_drop(struct places *all, struct place *p);

/* The connection needs p no more: it waits no longer, and if it is held, worker and account have
 * it. */
void places_leave(struct places *all, struct place *p);

/* p is free for others, if it is held; after places_leave(). */
void places_give(struct places *all, struct place *p);

#endif
