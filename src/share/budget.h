/*
 * budget: a bounded sum of something that a worker has, and how much of it each account may hold. A
 * client that has nothing finds its least share as long as there is any; beyond it an account may
 * hold a part of what is left, so that a later client always finds some and one client alone gets
 * most of what it can use (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length
 * thresholds for shared-memory packet switches", 1998). Owned by the module whose resource it is;
 * on the loop's thread; never allocates.
 */
#ifndef H2D_SHARE_BUDGET_H
#define H2D_SHARE_BUDGET_H

#include <stdbool.h>

#include "share/account.h"

struct budget {
	enum account_kind kind;
	uint64_t max;        /* the sum that may be held; may change */
	uint64_t held;       /* the sum that is held */
	uint64_t least;      /* an account may hold so much, whatever the others hold */
	unsigned part;       /* beyond: at most what is left divided by this, at least 1 */
	struct list holders; /* struct account_part of those that hold some */
};

void budget_init(
	struct budget *b, enum account_kind kind, uint64_t max, uint64_t least, unsigned part);

/* How much more account may take now. NULL, of tests: whatever is left. */
uint64_t budget_room(const struct budget *b, const struct account *a);

/* Counts n for account (NULL: for nobody), also past its room: whoever must not asks before. */
void budget_take(struct budget *b, struct account *a, uint64_t n);

/* n that were taken are free again. An account that holds something of a budget stays open. */
void budget_give(struct budget *b, struct account *a, uint64_t n);

/*
 * The account that holds most, and more than the least share: it pays first where somebody with
 * nothing waits. NULL: nobody does. Looks at each holder: once a turn at most.
 */
struct account *budget_greediest(const struct budget *b);

/* The account that holds most, whatever the least share is: for what can be taken back without
 * loss. NULL: nobody holds any. */
struct account *budget_most(const struct budget *b);

#endif
