/*
 * tls_tickets: the keys that session tickets are made and read with: one set for all certificates,
 * workers and generations. They lie in memory that the master writes and workers read, so that a
 * new key is known to all at once; an upgrade passes it to the program that replaces this one.
 */
#ifndef H2D_TLS_TLS_TICKETS_H
#define H2D_TLS_TLS_TICKETS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	TLS_TICKETS_KEY = 80, /* a name of 16 bytes, 32 for HMAC-SHA256, 32 for AES-256-CBC */
	TLS_TICKETS_MADE = 3, /* of its own: the one that encrypts, and those before it */
	TLS_TICKETS_MAX = 8,
};

/* A set; the first key encrypts. Whoever has one on the stack wipes it. */
struct tls_tickets {
	unsigned n;
	unsigned char keys[TLS_TICKETS_MAX][TLS_TICKETS_KEY];
};

/* Has ssl use the keys, which are made at the first call. */
bool tls_tickets_use(SSL_CTX *ssl);

/* A copy of the keys; false: none can be made. */
bool tls_tickets_get(struct tls_tickets *to);

/* These in the place of all others, in every process; wipes what was there. */
bool tls_tickets_set(const struct tls_tickets *from);

/* A new key in front; the oldest is wiped. False: there is no randomness, and nothing changed. */
bool tls_tickets_rotate(void);

/* How old the key is that encrypts; 0: there is none; UINT64_MAX: it was set. */
uint64_t tls_tickets_age_ms(void);

/* The memfd of the keys, for the program that replaces this one; -1: there are none. */
int tls_tickets_fd(void);

/* Takes the keys, and their age, out of that of the program before; fd stays the caller's. False:
 * it is of another version. */
bool tls_tickets_inherit(int fd);

/*
 * A set out of a file that several machines may have: 80 bytes each, and nothing else. False: why
 * it cannot be used is in why, and to is wiped.
 */
bool tls_tickets_read(const char *file, struct tls_tickets *to, char *why, size_t size);

/* In a new process that reads them: from now on it cannot write them. 0 or -errno. */
int tls_tickets_protect(void);

/* In a new process that serves no TLS: they go from its memory. */
void tls_tickets_forget(void);

#endif
