/*
 * line: the holders of a budget, those that wait for it, and the one that pays when it is used up.
 * Clients take turns, those without any first, and within a client its connections. Owned by the
 * module whose resource it is; on the loop's thread; never allocates.
 */
#pragma once

#include "share/account.h"

/* A place in the line, or a part of the budget; a member of its owner. Neither when zeroed, but its
 * node needs list_init(). */
struct line_turn {
	struct account *account;  /* NULL: none. Open while it waits or holds some */
	struct line_group *group; /* NULL: it does not wait */
	uint64_t held;
	uint64_t used_ms; /* when it was last lent */
	struct list node; /* waits in group, or is lent: it may be revoked */
};

enum line_answer {
	LINE_GO,   /* it may have its turn */
	LINE_WAIT, /* it may not, others may */
	LINE_FULL, /* none may */
};

struct line {
	struct budget budget;
	/* True if t, which waits, may have its turn now: by default if its account has room. */
	enum line_answer (*ask)(struct line *l, struct line_turn *t);
	enum account_kind poor_in; /* clients without any of that come first */
	bool of_connections;       /* turns wait with their connections, these with their clients */
	bool by_client;            /* lent turns are kept by client */
	bool by_turn; /* the client with the longest wait since its turn is next; for few of them */
	bool full;    /* none may: result for the last one asked */
	unsigned nwaiting;
	uint64_t turn;              /* the last one */
	struct list poor, others;   /* struct line_group of clients: the first one is next */
	struct list lent;           /* struct line_turn, unless by_client */
	struct account_part nobody; /* of turns without an account */
};

/* The owner sets the rules (ask to by_turn), before the first turn. */
void line_init(struct line *l, enum account_kind kind, uint64_t max, uint64_t least, unsigned part);

void line_group_init(struct line_group *g);

/* True if account's client has no turn in line, and room for one. */
bool line_is_free(struct line *l, struct account *account);

/* t waits for account, with one of its connections (NULL: with its client). */
void line_join(struct line *l, struct line_turn *t, struct account *account,
	struct line_group *connection);

/* t stops waiting; harmless if it does not wait. */
void line_leave(struct line *l, struct line_turn *t);

/* Takes the next turn from the line, which now takes its part. The caller closes its account. NULL:
 * none may. */
struct line_turn *line_next(struct line *l);

/* t has n more, or n less, of the budget. */
void line_took(struct line *l, struct line_turn *t, uint64_t n);
void line_gave(struct line *l, struct line_turn *t, uint64_t n);

/* t, which does not wait, was just used, and may be revoked from now on; or may not. */
void line_lend(struct line *l, struct line_turn *t);
void line_keep(struct line_turn *t);

/* Turns lent by account's client (NULL: none's), the longest unused first; of a line by_client. */
const struct list *line_lent(struct line *l, struct account *account);

/* --- the one that pays; NULL: none --- */

/* The lent turn unused for longest, if for at least ms. */
struct line_turn *line_unused(const struct line *l, uint64_t ms);

/* The last turn of the client that has most in line, at least two more than account's. */
struct line_turn *line_longest(struct line *l, struct account *account);

/* The number of waiting turns of account's client. */
unsigned line_waiting(struct line *l, struct account *account);

/* The number of waiting connections whose first turn is such a one, counted up to max. */
unsigned line_count(const struct line *l, bool (*is)(struct line_turn *first), unsigned max);
