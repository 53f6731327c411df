/*
 * tally: clients' recent use, over all processes of a server: a table in shared memory that the
 * master makes and workers write, without a lock. A client is identified by the mark of its
 * account. The table never grows: when it is full, the client with the least use is dropped. An
 * attacker in a process can spoil only the counts. The table survives reloads.
 */
#pragma once

#include "share/account.h"

enum {
	TALLY_WAYS = 8,
	TALLY_SETS = 1 << 15, /* a power of two */
	TALLY_PROCESSES = 1024,
};

struct tally_set {
	uint64_t tags[TALLY_WAYS]; /* 0: free */
	uint64_t until_ns[TALLY_WAYS];
} __attribute__((aligned(2 * TALLY_WAYS * sizeof(uint64_t))));

/* A process that counts for its clients, in places of its own: their tags have its salt. */
struct tally_process {
	uint64_t salt;
	uint64_t seen_us; /* its last sign of life, plus 1; 0: free */
};

struct tally_table {
	struct tally_set sets[TALLY_SETS];
	struct tally_process processes[TALLY_PROCESSES];
	uint64_t used; /* of processes so far: the first ones */
};

struct tally {
	struct tally_table *table;
	struct account_keys keys;  /* to identify its clients */
	uint64_t salt;             /* of this process; 0: it does not report */
	struct tally_process *own; /* NULL: the same */
};

/*
 * A client's share, as a time (a generic cell rate algorithm): each use costs a time, and the
 * client's sum may be ahead of the clock by depth_ns.
 */
struct rate {
	uint64_t cost_ns;  /* of one */
	uint64_t depth_ns; /* at least cost_ns, and at most RATE_DEPTH_MAX */
	uint64_t rule;     /* rates of the same rule share a client's count */
};

#define RATE_DEPTH_MAX (UINT64_C(1) << 62)

/*
 * So many a second, 1 to 10^9, and burst of them at once, from 1 on, up to RATE_DEPTH_MAX. The rule
 * is that of block (the titles of the key's sections, any text) and key.
 */
struct rate rate_of(uint64_t per_second, uint64_t burst, const char *block, const char *key);

/* The rule alone, without a rate. */
uint64_t rate_rule(const char *block, const char *key);

/* A table, shared with all processes that are forked later; its keys are random. NULL with errno.
 */
struct tally *tally_new(void);

void tally_free(struct tally **t);

/*
 * Takes cost_ns, at most the rate's depth_ns, for the client with that mark, at now_us of
 * CLOCK_MONOTONIC. 0: taken; else refused, and the client may try again so many nanoseconds later.
 */
uint64_t tally_take(
	struct tally *t, uint64_t mark, const struct rate *rate, uint64_t cost_ns, uint64_t now_us);

/*
 * Numbers that clients hold, such as connections: each process reports those of its own clients,
 * and adds those of other live processes. This one does so from the first call on, which is due
 * about once a second, until tally_leave(). False: there is no room for one more process.
 */
bool tally_live(struct tally *t, uint64_t now_us);
void tally_leave(struct tally *t);

/* Reports that the client holds n by rule in this process. */
void tally_tell(struct tally *t, uint64_t mark, uint64_t rule, uint64_t n, uint64_t now_us);

/* The client's number in all other live processes. */
uint64_t tally_others(const struct tally *t, uint64_t mark, uint64_t rule, uint64_t now_us);

/*
 * holding: the number of connections or uploads of each client, over all workers, and its limit.
 * This worker's part is a budget of its accounts, the parts of the others are in the tally. Owned
 * by the counter's module: connections (session/sessions.h), uploads (server/worker.c).
 */

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
