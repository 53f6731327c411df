/*
 * holding: the number of connections or uploads of each client, over all workers, and its limit.
 * This worker's part is a budget of its accounts, the parts of the others are in the tally. Owned
 * by the counter's module: connections (session/sessions.h), uploads (server/worker.c).
 */
#pragma once

#include "share/budget.h"
#include "share/tally.h"

struct holding {
	struct budget budget;
	struct tally *tally; /* NULL: not counted */
	uint64_t rule;       /* in the tally */
	uint64_t max;        /* of a client; 0: no limit, not counted */
};

/* key: of the configuration; names the rule. */
void holding_init(struct holding *h, enum account_kind kind, struct tally *tally, const char *key,
	uint64_t max);

/*
 * Counts one more of a's, until holding_give(). False: it exceeds the limit, and counts all the
 * same. *counted: false for exempt clients and the crowd's account.
 */
bool holding_take(struct holding *h, struct account *a, bool *counted);

/* Counts one less of a's; a stays open for the caller. */
void holding_give(struct holding *h, struct account *a);
