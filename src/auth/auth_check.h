/*
 * auth_check: one check against a password file, and its worker's queue: for auth_queue.c, which
 * runs and reports checks and remembers verdicts, and auth_line.c, which orders them and counts a
 * client's wrong guesses.
 */
#pragma once

#include "auth/auth_queue.h"
#include "auth/htpasswd.h"
#include "base/states.h"
#include "share/line.h"

/* --- verdicts --- */

enum {
	VERDICT_KEY = 32,
	VERDICT_SETS = 256,
	VERDICT_WAYS = 4,
	VERDICT_MS = 10000,
	VERDICT_RIGHT_MS = 3600000, /* since its last use, while the file is unchanged */
};

struct verdict {
	uint8_t key[VERDICT_KEY];
	struct file_id stamp; /* of its file */
	uint64_t expires_ms;  /* 0: free */
	uint64_t seen_ms;     /* last time the file was unchanged */
	bool passed;
	bool settled; /* the stamp shows every later change */
};

/* Right and wrong ones are remembered alike, but wrong ones are replaced first. */
struct auth_cache {
	struct verdict v[VERDICT_SETS][VERDICT_WAYS];
};

/* NULL: none, or too old. */
struct verdict *auth_cache_find(
	struct auth_cache *t, const uint8_t key[VERDICT_KEY], uint64_t now_ms);

/* Copies v over the one with its key, a free one, or one of less worth. */
void auth_cache_put(struct auth_cache *t, const struct verdict *v, uint64_t now_ms);

/* --- wrong guesses --- */

enum {
	AUTH_GUESSES = 16,      /* users whose guesses are counted separately per client */
	AUTH_FIRST_DELAY = 100, /* ms, after the first wrong guess; doubled after each more */
	AUTH_DELAY_MAX = 4000,
	AUTH_FORGIVEN_MS = 60000, /* without a wrong guess for so long: as if there was none */
};

/* Wrong guesses at one user's password; at several users' if a client guesses at more than there
 * are places. */
struct auth_guess {
	uint32_t user; /* hash of the name, by a key of this process */
	unsigned failures;
	uint64_t failed_ms; /* the last of them */
};

/*
 * Guesses count by user, so that guesses at one user's password delay no other user at that
 * address. They are in the client's account and remembered there for a minute.
 */
struct auth_client {
	struct auth_guess guesses[AUTH_GUESSES];
};

/* The account's client, made at the first check. NULL: memory is out. */
struct auth_client *auth_client_of(struct account *account);

/* The wrong guesses at user's password that still count, and the ms that the next one waits. */
unsigned auth_client_failures(struct auth_client *c, uint32_t user);
uint64_t auth_client_delay(struct auth_client *c, uint32_t user);

/* A guess was wrong, or right: the delay of the next one grows, or ends if no other user's guesses
 * count there. */
void auth_client_wrong(struct auth_client *c, uint32_t user);
void auth_client_right(struct auth_client *c, uint32_t user);

/* --- checks --- */

enum {
	AUTH_RUNNING_MAX = 2, /* of the worker's four threads */
	AUTH_LINE_MAX = 64,
	AUTH_CLIENT_LINE_MAX = 8,
	AUTH_DELAYED_MAX = 256, /* of all clients */
	AUTH_TOLD = 16,
	AUTH_KEY = 32,
};

enum auth_check_state {
#define AUTH_CHECK_STATE(name, next, help) AUTH_CHECK_##name,
#include "auth/auth_check_state.def"
};

extern const struct states auth_check_states;

struct auth_check {
	struct job job;
	struct auth_queue *queue;
	enum auth_check_state state;
	struct list node;        /* on queue->checks; on queue->dropped */
	struct list waits;       /* struct auth_wait */
	struct line_turn turn;   /* queued, or on queue->first */
	struct timer timer;      /* of its delay */
	struct account *account; /* open; NULL: none */
	struct auth_client *client;
	uint32_t user;             /* hash of the user whose password is checked */
	enum auth_verdict dropped; /* its final verdict, once it is on queue->dropped */
	uint64_t retry_ms;         /* ms until the client may ask again; 0: soon */
	struct auth_basic who;
	struct htpasswd question;
	enum htpasswd_result result;
	bool unchanged;         /* the file was unchanged */
	int64_t asked_ns;       /* wall clock before the file was read */
	struct verdict verdict; /* the key, and the earlier result */
};

struct auth_queue {
	struct loop *loop;
	struct offload *offload;
	struct list checks; /* in order of arrival */
	struct line line;
	struct list first;         /* struct auth_check: run before the line */
	struct list dropped;       /* struct auth_check that were evicted */
	struct task tell;          /* answers the requests of dropped checks */
	struct auth_client nobody; /* for checks without an account */
	uint8_t key[AUTH_KEY];     /* random, only of this process */
	struct {
		const char *file;
		struct file_id stamp;
	} told[AUTH_TOLD]; /* files with foreign hashes that were logged */
	unsigned ntold;
	struct auth_cache verdicts;
};

/* The one writer of c's state, with its place in the line. */
void auth_check_go(struct auth_check *c, enum auth_check_state state);

/* Ends an evicted check, at the end of the loop's turn: the evicting caller may be in the middle of
 * a request. */
void auth_line_drop(struct auth_check *c, enum auth_verdict verdict);

/*
 * AUTH_LATER: the check has its place; else why not. In a full line, the check whose user was
 * guessed wrong most is evicted for one who failed less; if none failed, one of the client that has
 * most in it.
 */
enum auth_verdict auth_line_join(struct auth_check *c);

/* The next check to run; NULL: none. */
struct auth_check *auth_line_next(struct auth_queue *queue);
