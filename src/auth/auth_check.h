/*
 * auth_check: one question to a password file, and the queue of one worker that has it: for
 * auth_queue.c, which asks and tells, auth_line.c, which says which check is the next,
 * auth_cache.c, which remembers verdicts, and auth_client.c, which counts the wrong guesses of a
 * client.
 */
#ifndef H2D_AUTH_CHECK_H
#define H2D_AUTH_CHECK_H

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
	VERDICT_RIGHT_MS = 3600000, /* since it was used last, while the file is as it was */
};

struct verdict {
	uint8_t key[VERDICT_KEY];
	struct file_id stamp; /* of the file that it is about */
	uint64_t expires_ms;  /* 0: free */
	uint64_t seen_ms;     /* when the file was last seen to be that one */
	bool passed;
	bool settled; /* the stamp tells every later change */
};

/* Right and wrong ones are remembered alike, but wrong ones make room first. */
struct auth_cache {
	struct verdict v[VERDICT_SETS][VERDICT_WAYS];
};

/* NULL if there is none, or it is too old. */
struct verdict *auth_cache_find(
	struct auth_cache *t, const uint8_t key[VERDICT_KEY], uint64_t now_ms);

/* Copies v over the one with its key, a free one, or one that is worth less. */
void auth_cache_put(struct auth_cache *t, const struct verdict *v, uint64_t now_ms);

/* --- wrong guesses --- */

enum {
	AUTH_GUESSES = 16,      /* users whose guesses one client has counted apart */
	AUTH_FIRST_DELAY = 100, /* ms, after the first wrong guess; twice as long after each more */
	AUTH_DELAY_MAX = 4000,
	AUTH_FORGIVEN_MS = 60000, /* without a wrong guess for so long: as if there was none */
};

/* Wrong guesses at one user's password; where a client guesses at more users than there are places,
 * at those of several. */
struct auth_guess {
	uint32_t user; /* hash of the name, by a key of this process */
	unsigned failures;
	uint64_t failed_ms; /* the last of them */
};

/*
 * Guesses count by user, so that who guesses one user's password keeps nobody else at that address
 * waiting. They hang on the client's account and are remembered there for a minute.
 */
struct auth_client {
	struct auth_guess guesses[AUTH_GUESSES];
};

/* The client that hangs on account, made at the first question. NULL: memory is out. */
struct auth_client *auth_client_of(struct account *account);

/* Wrong guesses at user's password that count still, and the ms for which the next one waits. */
unsigned auth_client_failures(struct auth_client *c, uint32_t user);
uint64_t auth_client_delay(struct auth_client *c, uint32_t user);

/* A guess at it was wrong, or right: the delay of the next one grows, or ends if no other user's
 * guesses count there. */
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
	AUTH_CHECK_STATES
};

extern const struct states auth_check_states;

struct auth_check {
	struct job job;
	struct auth_queue *queue;
	enum auth_check_state state;
	struct list node;        /* on queue->checks; on queue->dropped */
	struct list waits;       /* struct auth_wait */
	struct line_turn turn;   /* in line, or on queue->first */
	struct timer timer;      /* of its delay */
	struct account *account; /* open; NULL: nobody's */
	struct auth_client *client;
	uint32_t user;             /* hash of the user whose password it asks for */
	enum auth_verdict dropped; /* the verdict it ends with, once it is on queue->dropped */
	uint64_t retry_ms;         /* ms after which the client may ask again; 0: soon */
	struct auth_basic who;
	struct htpasswd question;
	enum htpasswd_result result;
	bool unchanged;         /* the look found the file as it was */
	int64_t asked_ns;       /* wall clock before the file was read */
	struct verdict verdict; /* the key, and what was known of it before */
};

struct auth_queue {
	struct loop *loop;
	struct offload *offload;
	struct list checks; /* as they came */
	struct line line;
	struct list first;         /* struct auth_check: they come before the line */
	struct list dropped;       /* struct auth_check that had to leave the line */
	struct task tell;          /* tells the requests of dropped checks */
	struct auth_client nobody; /* for checks without an account */
	uint8_t key[AUTH_KEY];     /* random, of this process alone */
	uint64_t failed_ms;        /* when a file that cannot be read was last logged */
	struct {
		const char *file;
		struct file_id stamp;
	} told[AUTH_TOLD]; /* files with hashes of others that were logged */
	unsigned ntold;
	struct auth_cache verdicts;
};

/* The one writer of c's state, with its place in the line. */
void auth_check_go(struct auth_check *c, enum auth_check_state state);

/* Ends a check that has lost its turn, at the end of the loop's turn: whoever made it lose that may
 * be in the middle of a request. */
void auth_line_drop(struct auth_check *c, enum auth_verdict verdict);

/*
 * AUTH_LATER: the check has its place; else why not. When the line is full, the check whose user
 * was guessed wrong most leaves it for one who failed less; if none failed, one of the client that
 * has most in it.
 */
enum auth_verdict auth_line_join(struct auth_check *c);

/* The check that is the next to run; NULL: none. */
struct auth_check *auth_line_next(struct auth_queue *queue);

#endif
