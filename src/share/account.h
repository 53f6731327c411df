/*
 * account: one client, and its parts of a worker's budgets, over all of its connections. A client
 * is an IPv4 address, an IPv6 network (of 64 bits, see client-ipv6-prefix), or all peers on unix
 * sockets; behind a trusted proxy it is the proxy's client. On the loop's thread.
 */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/list.h"

enum account_kind {
#define ACCOUNT_KIND(name, what) ACCOUNT_##name,
#include "share/account.def"
	ACCOUNT_KINDS
};

enum { ACCOUNT_ID = 9 };

/* Waiting turns (share/line.h) of a client, or of one of its connections. */
struct line_group {
	struct list waits;     /* turns, or groups of connections */
	struct list node;      /* in up, or among the clients, while some wait */
	struct line_group *up; /* of a connection: its client */
	uint64_t turn;         /* of a client: its last one */
};

/* An account's part of a budget. Only budget_…() write it, except its line's members. */
struct account_part {
	uint64_t held;
	struct list node; /* in the budget's holders while held > 0 */
	struct line_group group;
	struct list lent; /* turns that may be revoked */
};

struct auth_client;

struct account {
	struct accounts *all;
	struct account *next;   /* in its bucket */
	uint8_t id[ACCOUNT_ID]; /* family and address; all zero: the crowd's */
	uint64_t mark;          /* a hash of id */
	uint64_t limited;       /* the mark if limits apply; 0: they do not, or the crowd's */
	bool exempt;            /* from limits by rate and number (exempt) */
	struct addr client;     /* for logs: the address that opened it */
	unsigned users;         /* connections, requests and budgets that hold it open */
	uint64_t keep_ms;       /* clock_ms() until which it is remembered; 0: not at all */
	struct list idle;       /* in all->idle while users is 0 */
	struct auth_client
		*auth; /* auth/auth_check.h: freed with it; NULL: no password was checked */
	struct account_part parts[ACCOUNT_KINDS];
};

struct accounts;
struct access; /* share/access.h */

/* A hash key for each family of addresses. */
struct account_keys {
	struct {
		unsigned __int128 factor, offset;
	} of[2];
};

/* Makes random ones; false: no randomness (errno). */
bool account_keys_make(struct account_keys *keys);

void account_part_init(struct account_part *part);

/*
 * A table of at most max accounts, owned by the caller. Marks, which choose buckets, are made with
 * these keys, shared by processes that count together; an IPv6 network has prefix bits (1 to 64);
 * exempt clients (NULL: none) are in exempt, which outlives all. NULL when memory is out.
 */
struct accounts *accounts_new(unsigned max, const struct account_keys *keys, unsigned prefix,
	const struct access *exempt);

/* Asserts that no account is open. */
void accounts_free(struct accounts **all);

/*
 * Opens the account of client, until account_close(). Never NULL: when the table is full of open
 * accounts, or memory is out, it is the shared one, the crowd's.
 */
struct account *account_open(struct accounts *all, const struct addr *client);

/* True if a is the shared one for clients without room. */
bool account_is_crowd(const struct account *a);

/* The mark of client's account, existing or not; *exempt likewise. For the crowd's. */
uint64_t account_mark(const struct accounts *all, const struct addr *client, bool *exempt);

/* Opens it again; harmless if it is NULL. */
void account_hold(struct account *a);

/* Sets *a NULL; harmless if it is. An idle account is freed unless it is to be remembered: then its
 * place goes to another client when the table is full, or at accounts_look(). */
void account_close(struct account **a);

/* Frees idle accounts whose time to be remembered is over. Called once a second. */
void accounts_look(struct accounts *all);

/* The number of accounts, without the crowd's: for tests. */
unsigned accounts_count(const struct accounts *all);

/*
 * budget: a worker's limited sum of a resource, and the share of each account. A client without any
 * gets its least share as long as there is some; beyond it an account may hold a part of the rest,
 * so that a later client always finds some and one client alone gets most of what it can use
 * (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory
 * packet switches", 1998). Owned by the module whose resource it is; on the loop's thread; never
 * allocates.
 */

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
