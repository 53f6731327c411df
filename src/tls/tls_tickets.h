/*
 * tls_tickets: the keys of session tickets: one set for all certificates, workers and generations.
 * The master writes their memory and workers read it, so that a new key is known to all at once; an
 * upgrade passes it to the program that replaces this one.
 */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	TLS_TICKETS_KEY = 80, /* a name of 16 bytes, 32 for HMAC-SHA256, 32 for AES-256-CBC */
	TLS_TICKETS_MADE = 3, /* h2d's own: the encrypting one, and those before it */
	TLS_TICKETS_MAX = 8,
};

/* A set; the first key encrypts. Wipe it after use on the stack. */
struct tls_tickets {
	unsigned n;
	unsigned char keys[TLS_TICKETS_MAX][TLS_TICKETS_KEY];
};

/* Makes ssl use the keys, which are made at the first call. */
bool tls_tickets_use(SSL_CTX *ssl);

/* Copies the keys; false: none can be made. */
bool tls_tickets_get(struct tls_tickets *to);

/* Replaces all keys by these, in every process; wipes the old ones. */
bool tls_tickets_set(const struct tls_tickets *from);

/* Adds a new key in front; wipes the oldest. False: no randomness, no change. */
bool tls_tickets_rotate(void);

/* Age of the encrypting key; 0: none; UINT64_MAX: it was set. */
uint64_t tls_tickets_age_ms(void);

/* The memfd of the keys, for the replacing program; -1: none. */
int tls_tickets_fd(void);

/* Takes the keys, and their age, from the previous program's; fd stays the caller's. False: it is
 * of another version. */
bool tls_tickets_inherit(int fd);

/*
 * Reads a set from a file that several machines may share: 80 bytes each. False: the reason is in
 * why, and to is wiped.
 */
bool tls_tickets_read(const char *file, struct tls_tickets *to, char *why, size_t size);

/* In a new process that reads the keys: makes them read-only. 0 or -errno. */
int tls_tickets_protect(void);

/* In a new process without TLS: removes them from its memory. */
void tls_tickets_forget(void);
