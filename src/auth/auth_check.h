/*
 * auth_check: one question to a password file, and the queue of one worker that has it. For
 * auth_queue.c, which asks and tells, and auth_line.c, which says which check is the next.
 */
#ifndef H2D_AUTH_CHECK_H
#define H2D_AUTH_CHECK_H

#include "auth/auth_cache.h"
#include "auth/auth_client.h"
#include "auth/auth_queue.h"
#include "base/states.h"
#include "share/line.h"

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
