/*
 * auth_client: how long wrong guesses of a client make its next one wait. Guesses count by user, so
 * that who guesses one user's password keeps nobody else at that address waiting. It hangs on the
 * client's account and is remembered there for a minute. Called by auth_queue.c.
 */
#ifndef H2D_AUTH_CLIENT_H
#define H2D_AUTH_CLIENT_H

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
};

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

#endif
