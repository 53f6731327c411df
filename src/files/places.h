/*
 * places: the number of files that a worker may have open for responses and uploads, and their
 * shares: an account a part of the free ones (share/account.h), and a connection, within that,
 * PLACES_SHARE. A response lends its place between reads: a request without one gets a lent one, of
 * its own account or of the account that holds most, the one unread for longest. One never read is
 * not taken at once, unless its peer takes no bytes. Without one, requests wait: clients take
 * turns, then their connections. For disk*.c and store*.c.
 */
#pragma once

#include "base/states.h"
#include "event/loop.h"
#include "share/line.h"

enum {
	PLACES_SHARE = 16,       /* of one connection */
	PLACES_LEAST = 16,       /* of an account, also where few are left */
	PLACES_MAX = 4096,       /* until places_limit() */
	PLACES_UPLOAD_MS = 2000, /* the least time of an upload's place */
	PLACES_UNREAD_MS =
		1000, /* and of a response's before its first read, if it does not rest */
};

/* The places of one connection. Zeroed, it has none, but its lists need place_share_init(). */
struct place_share {
	unsigned held;
	struct list lent; /* struct place: the one unread for longest is the first */
	struct line_group group;
};

struct places {
	unsigned max;
	struct line files; /* both wait here, clients without an upload first */
	struct budget uploads;
	unsigned coming;          /* places taken back whose files are being closed */
	struct place_share alone; /* for places of no connection */
	struct loop *loop;
	struct task turns;
};

enum place_state {
#define PLACE_STATE(name, next, help) PLACE_##name,
#include "files/place_state.def"
};
extern const struct states place_states;

struct place {
	enum place_state state;
	struct place_share *share; /* NULL: its connection has ended */
	struct line_turn turn;     /* lent; of an upload, as long as it has its place */
	bool upload;               /* set before it is taken; never lent, except by places_look() */
	bool unread;               /* lent, and never read */
	struct list node;          /* among its share's lent ones */
	void (*granted)(struct place *p); /* after places_take() made it wait */
	/* Others need the place. An upload ends; a lent place's file is closed (true), or will be,
	 * and places_drop() comes (false). */
	bool (*back)(struct place *p);
	/* The bytes of an upload so far; PLACES_BUSY: it must not end now. */
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
 * (its back() is called): one for each waiting connection, up to a bound. Those waiting check again
 * for places lent long enough.
 */
void places_look(struct places *all);

void place_share_init(struct place_share *s);

/* The number of held places. */
unsigned places_held(const struct places *all);

/*
 * Takes p for share and account; NULL: it is counted for the worker alone. True: held. False:
 * p->granted comes, in a later turn.
 */
bool places_take(
	struct places *all, struct place_share *share, struct account *account, struct place *p);

/* places_take() of a free place only, without taking one back. False: p is not held, and does not
 * wait. */
bool places_try(
	struct places *all, struct place_share *share, struct account *account, struct place *p);

/* Lends p. read: its file was just read; else never. */
void places_lend(struct places *all, struct place *p, bool read);

/* p's peer takes no bytes now; until p is next read. */
void places_rest(struct places *all, struct place *p);

/* p is in use, until it is lent again. */
void places_keep(struct place *p);

/* Frees p for others; it may be taken again; after back() returned false. */
void places_drop(struct places *all, struct place *p);

/* The connection needs p no more: it stops waiting, and if held, is counted for worker and
 * account. */
void places_leave(struct places *all, struct place *p);

/* Frees p for others, if it is held; after places_leave(). */
void places_give(struct places *all, struct place *p);
