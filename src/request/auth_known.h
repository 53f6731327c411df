/*
 * auth_known: which credentials were right lately. Their checks have a lane of their own, so that
 * guesses of others never keep a user out who was let in within the last hour. It says which lane,
 * never who is let in, so it holds three bytes of a MAC of the credentials: too little to test a
 * password against, should somebody read the worker's memory. Kept by auth_line.c. Pure.
 */
#ifndef H2D_REQUEST_AUTH_KNOWN_H
#define H2D_REQUEST_AUTH_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	AUTH_KNOWN_SETS = 256,
	AUTH_KNOWN_WAYS = 4,
	AUTH_KNOWN_MS = 3600000,
};

struct auth_known {
	struct {
		uint16_t tag;
		uint64_t until_ms; /* 0: free */
	} v[AUTH_KNOWN_SETS][AUTH_KNOWN_WAYS];
};

/* key: a MAC of credentials and their file, at least 4 bytes. */
bool auth_known_has(const struct auth_known *k, const uint8_t *key, uint64_t now_ms);
void auth_known_add(struct auth_known *k, const uint8_t *key, uint64_t now_ms);
void auth_known_remove(struct auth_known *k, const uint8_t *key);

#endif
