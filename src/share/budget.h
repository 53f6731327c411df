/*
 * budget: a worker's limited sum of a resource, and the share of each account. A client without any
 * gets its least share as long as there is some; beyond it an account may hold a part of the rest,
 * so that a later client always finds some and one client alone gets most of what it can use
 * (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory
 * packet switches", 1998). Owned by the module whose resource it is; on the loop's thread; never
 * allocates.
 */
#pragma once

#include <stdbool.h>

#include "share/account.h"

struct budget {
	enum account_kind kind;
	uint64_t max;        /* the limit of the sum; may change */
	uint64_t held;       /* the sum in use */
	uint64_t least;      /* an account's least share, whatever the others hold */
	unsigned part;       /* beyond: at most the rest divided by this, at least 1 */
	struct list holders; /* struct account_part of accounts with some */
};

void budget_init(
	struct budget *b, enum account_kind kind, uint64_t max, uint64_t least, unsigned part);

/* The amount that account may still take. NULL, in tests: all the rest. */
uint64_t budget_room(const struct budget *b, const struct account *a);

/* Counts n for account (NULL: for none), also beyond its room: callers with a limit ask before. */
void budget_take(struct budget *b, struct account *a, uint64_t n);

/* Frees n taken ones. An account with a part of a budget stays open. */
void budget_give(struct budget *b, struct account *a, uint64_t n);

/*
 * The account that holds most, and more than the least share: it pays first if a client without any
 * waits. NULL: none. Checks each holder: once a turn at most.
 */
struct account *budget_greediest(const struct budget *b);

/* The account that holds most, whatever the least share is: for revocation without loss. NULL: none
 * holds any. */
struct account *budget_most(const struct budget *b);
