/*
 * line: who has some of a budget, who waits for it, and who pays where there is none. Clients take
 * turns, those that have nothing of it first, and of a client its connections, where turns name
 * theirs. What was taken and may be asked back is kept in the order in which it was used. Owned by
 * the module whose resource it is; on the loop's thread; never allocates.
 */
#ifndef H2D_SHARE_LINE_H
#define H2D_SHARE_LINE_H

#include "share/budget.h"

/* A place in the line, or a part of the budget; a member of its owner. Zeroed, it has neither, but
 * its node needs list_init(). */
struct line_turn {
	struct account *account;  /* NULL: nobody's. Open while it waits or has some */
	struct line_group *group; /* NULL: it does not wait */
	uint64_t held;
	uint64_t used_ms; /* when it was lent last */
	struct list node; /* waits in group, or is lent: it may be asked back */
};

enum line_answer {
	LINE_GO,   /* it may have its turn */
	LINE_WAIT, /* it may not, others may */
	LINE_FULL, /* nobody may */
};

struct line {
	struct budget budget;
	/* Whether t, which waits, may have its turn now: where its account has room, unless the
	 * owner has another rule. */
	enum line_answer (*ask)(struct line *l, struct line_turn *t);
	enum account_kind poor_in; /* clients that have nothing of that come first */
	bool of_connections;       /* turns wait with their connections, these with their clients */
	bool by_client;            /* lent turns are kept by client */
	bool by_turn; /* the client with the longest wait since its turn is next; for few of them */
	bool full;    /* nobody may: so the last that was asked for */
	unsigned nwaiting;
	uint64_t turn;              /* the last one */
	struct list poor, others;   /* struct line_group of clients: the next one is the first */
	struct list lent;           /* struct line_turn, unless by_client */
	struct account_part nobody; /* of turns without an account */
};

/* The rules (ask to by_turn) are the owner's to set, before the first turn. */
void line_init(struct line *l, enum account_kind kind, uint64_t max, uint64_t least, unsigned part);

void line_group_init(struct line_group *g);

/* Whether account's client has no turn in line, and room for one. */
bool line_is_free(struct line *l, struct account *account);

/* t waits for account, with a connection of its (NULL: with its client). */
void line_join(struct line *l, struct line_turn *t, struct account *account,
	struct line_group *connection);

/* t waits no more; harmless if it does not. */
void line_leave(struct line *l, struct line_turn *t);

/* The turn that is the next, which waits no more, and takes what it waited for now. Its account is
 * the caller's to close. NULL: nobody may. */
struct line_turn *line_next(struct line *l);

/* t has n more, or n less, of the budget. */
void line_took(struct line *l, struct line_turn *t, uint64_t n);
void line_gave(struct line *l, struct line_turn *t, uint64_t n);

/* t, which does not wait, was used just now, and may be asked back from now on; or may not. */
void line_lend(struct line *l, struct line_turn *t);
void line_keep(struct line_turn *t);

/* Turns lent by account's client (NULL: nobody's), the longest unused first; of a line by_client.
 */
const struct list *line_lent(struct line *l, struct account *account);

/* --- who pays: NULL: nobody does --- */

/* The lent turn that was used longest ago, if that is ms ago. */
struct line_turn *line_unused(const struct line *l, uint64_t ms);

/* The last turn of the client that has most in line, at least two more than account's. */
struct line_turn *line_longest(struct line *l, struct account *account);

/* The number of turns that wait of account's client. */
unsigned line_waiting(struct line *l, struct account *account);

/* The number of connections that wait and whose first turn is such a one, counted up to max. */
unsigned line_count(const struct line *l, bool (*is)(struct line_turn *first), unsigned max);

#endif
