/*
 * auth_queue: HTTP Basic authentication (RFC 7617) against a file of user:hash lines, crypt(5)
 * hashes. Checked in an offload thread, because a good hash takes long; verdicts are remembered for
 * a short time, keyed by a MAC of the credentials, never by the credentials. Called by gate.c,
 * before the route is looked up.
 */
#pragma once

#include "base/conf_pos.h"
#include "event/offload.h"
#include "http/auth_basic.h"
#include "share/account.h"

struct auth {
	const char *file;   /* read for each check without a remembered verdict */
	struct slice realm; /* of the challenge */
	struct conf_pos at; /* of the file's key */
};

enum auth_verdict {
	AUTH_REFUSED, /* no such user, or not the password */
	AUTH_PASSED,
	AUTH_BUSY,    /* too many checks wait, of this client or of all: try again later */
	AUTH_DELAYED, /* earlier guesses at this user's password were wrong: after wait->retry_ms */
	AUTH_BROKEN,  /* the file cannot be read, which was logged */
	AUTH_LATER,   /* wait->fn() will have it */
};

struct auth_check;

/* A request that waits for a verdict; a member of its owner, zeroed before the first use. */
struct auth_wait {
	struct list node;
	struct auth_check *check; /* NULL: does not wait */
	uint64_t retry_ms;        /* for AUTH_DELAYED and AUTH_BUSY; 0: soon */
	void (*fn)(struct auth_wait *wait,
		enum auth_verdict verdict); /* in the loop, never from auth_ask() */
};

/* One worker's current checks and verdicts. l and o outlive it, except for offload_free(). NULL
 * with errno. */
struct auth_queue *auth_queue_new(struct loop *l, struct offload *o);

/* Called after the last wait and after offload_free(), which ends current checks. */
void auth_queue_free(struct auth_queue **queue);

/*
 * Checks credentials against auth's file, for account's client (NULL: a client of its own). With
 * AUTH_LATER wait is in use until fn() or auth_forget(). who is copied.
 */
enum auth_verdict auth_ask(struct auth_queue *queue, const struct auth *auth,
	const struct auth_basic *who, struct account *account, struct auth_wait *wait);

/* The verdict is no longer needed; harmless if wait does not wait. */
void auth_forget(struct auth_wait *wait);
