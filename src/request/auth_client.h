/*
 * auth_client: what the line of password checks knows of one client: the checks it has there, whose
 * turn comes before another's, and how long its wrong guesses make the next one wait. Guesses count
 * by user, so that who guesses one user's password keeps nobody else at that address waiting. It
 * hangs on the client's account and is remembered there for a minute. Called by auth_line.c.
 */
#ifndef H2D_REQUEST_AUTH_CLIENT_H
#define H2D_REQUEST_AUTH_CLIENT_H

#include "base/slice.h"
#include "share/account.h"

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
	unsigned nturns;    /* checks whose guess it is */
	unsigned nwaiting;  /* of them, those that wait for its delay */
};

struct auth_client {
	unsigned nline;    /* checks in line: they may run when their turn comes */
	unsigned nrunning; /* checks that a thread runs */
	uint64_t turn;     /* of its last check: the client with the lowest is the next */
	struct auth_guess guesses[AUTH_GUESSES];
};

/* The client that hangs on account, made at the first question. NULL: memory is out. */
struct auth_client *auth_client_of(struct account *account);

/* The place where guesses at user's password are counted. It stays while it has failures or
 * checks. */
struct auth_guess *auth_client_guess(struct auth_client *c, uint32_t user);

/* A guess at it was wrong, or right: the delay of the next one grows, or ends if no other user's
 * guesses count there. */
void auth_guess_failed(struct auth_guess *g, uint32_t user);
void auth_guess_right(struct auth_guess *g, uint32_t user);

/* clock_ms() at which the next check may run. */
uint64_t auth_guess_ready_ms(const struct auth_guess *g);

#endif
