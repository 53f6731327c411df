/*
 * tally: what clients have done lately, over all processes of a server: a table in shared memory
 * that the master makes and workers write, without a lock. A client is known by the mark of its
 * account. The table never grows: where there is no room, whoever has done least is forgotten. A
 * process that was taken over can spoil what is counted, and nothing else. The table lives through
 * reloads.
 */
#ifndef H2D_SHARE_TALLY_H
#define H2D_SHARE_TALLY_H

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

/* A process that counts what its clients hold, in places of its own: their tags have its salt. */
struct tally_process {
	uint64_t salt;
	uint64_t seen_us; /* its last sign of life, and 1; 0: nobody's */
};

/* In shared memory. */
struct tally_table {
	struct tally_set sets[TALLY_SETS];
	struct tally_process processes[TALLY_PROCESSES];
	uint64_t used; /* of processes, ever: the first ones */
};

struct tally {
	struct tally_table *table;
	struct account_keys keys;  /* by which its clients are known */
	uint64_t salt;             /* of this process; 0: it tells nothing */
	struct tally_process *own; /* NULL: likewise */
};

/*
 * A client's share of something, told in time (a generic cell rate algorithm): each one costs a
 * time, and the sum of what a client has had may be ahead of the clock by depth_ns.
 */
struct rate {
	uint64_t cost_ns;  /* of one */
	uint64_t depth_ns; /* at least cost_ns, and at most RATE_DEPTH_MAX */
	uint64_t rule;     /* rates of one rule are one for a client */
};

#define RATE_DEPTH_MAX (UINT64_C(1) << 62)

/*
 * So many a second, 1 to 10^9, and burst of them at once, from 1 on, up to RATE_DEPTH_MAX. The
 * rule is that of block (the titles of what has the key, any text) and key.
 */
struct rate rate_of(uint64_t per_second, uint64_t burst, const char *block, const char *key);

/* The rule alone, of what has no rate. */
uint64_t rate_rule(const char *block, const char *key);

/* A table, shared with all processes that are forked later; its keys are random. NULL with errno.
 */
struct tally *tally_new(void);

void tally_free(struct tally **t);

/*
 * The client with that mark asks for something that costs cost_ns, at most the rate's depth_ns, at
 * now_us of CLOCK_MONOTONIC. 0: it has it; else it has not, and may ask again so many nanoseconds
 * later.
 */
uint64_t tally_take(
	struct tally *t, uint64_t mark, const struct rate *rate, uint64_t cost_ns, uint64_t now_us);

/*
 * Things that clients hold, connections say: each process tells how many its own clients have, and
 * adds what those of the others have, as long as these give a sign of life. This one does so from
 * the first call on, which is due about once a second, until tally_leave(). False: there is no room
 * for one more process.
 */
bool tally_live(struct tally *t, uint64_t now_us);
void tally_leave(struct tally *t);

/* The client holds n of what rule counts, in this process. */
void tally_tell(struct tally *t, uint64_t mark, uint64_t rule, uint64_t n, uint64_t now_us);

/* How many it holds in all others that live. */
uint64_t tally_others(const struct tally *t, uint64_t mark, uint64_t rule, uint64_t now_us);

#endif
