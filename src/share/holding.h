/*
 * holding: how many of something each client has, over all workers, and how many it may have. This
 * worker's part is a budget of its accounts, the parts of the others are in the tally. Owned by
 * whose number it is: connections (session/sessions.h), uploads (server/worker.c).
 */
#ifndef H2D_SHARE_HOLDING_H
#define H2D_SHARE_HOLDING_H

#include "share/budget.h"
#include "share/tally.h"

struct holding {
	struct budget budget;
	struct tally *tally; /* NULL: nothing is counted */
	uint64_t rule;       /* in the tally */
	uint64_t max;        /* of a client; 0: any number, and nothing is counted */
};

/* key: of the configuration, which names the rule. */
void holding_init(struct holding *h, enum account_kind kind, struct tally *tally, const char *key,
	uint64_t max);

/*
 * One more of a's, until holding_give(). False: that is more than it may have, and counts all the
 * same. *counted: it counts, which it does not for exempt clients and the crowd's account.
 */
bool holding_take(struct holding *h, struct account *a, bool *counted);

/* One less of a's, which was counted; a stays open as the caller has it. */
void holding_give(struct holding *h, struct account *a);

#endif
