/*
 * tls_ctx: the certificates of one generation, and the choice for a connection. The master makes
 * it before the fork (it may read keys as root) and the workers inherit it; they never change it.
 */
#pragma once

#include "net/transport.h"
#include "tls/tls_cert.h"
#include "tls/tls_client_ca.h"

/*
 * The certificate for a client's server name (SNI), as the client wrote it; n 0: it sent none.
 * NULL: the default one.
 */
typedef const struct tls_cert *tls_choose(const void *owner, struct slice name);

/* The authorities whose certificate that client is asked for; NULL: none. */
typedef const struct tls_client_ca *tls_ask(const void *owner, struct slice name);

struct tls_ctx {
	bool tls12, tls13; /* versions offered */
	bool no_tickets;   /* and no other way to resume */
	bool rejects;      /* refuses unknown names and none: there is no default */
	/* Lists of words (tls_suites); NULL: h2d's own choice. */
	const char *ciphers, *groups;
	struct tls_cert *certs;
	struct tls_cert *first; /* the default, for clients without a known name */
	tls_choose *choose;     /* NULL: always the default */
	tls_ask *ask;           /* NULL: certificates are never requested */
	const void *owner;      /* of choose and ask */
};

/* NULL when memory is out. Needs a certificate before a connection. */
struct tls_ctx *tls_ctx_new(bool tls12, bool tls13);

/*
 * One more certificate, or several for the same names (n files); the existing one for the same
 * files. The first is the default. Lives as long as ctx, and the files' names longer. NULL with a
 * fault.
 */
struct tls_cert *tls_ctx_add(
	struct tls_ctx *ctx, const struct tls_files *files, unsigned n, struct tls_fault *fault);

void tls_ctx_free(struct tls_ctx **ctx);

/*
 * tls_suites: a server's cipher suites and groups, as lists of OpenSSL's words, "A:B"; "auto" and
 * NULL are h2d's own choice. The master checks them and sets them in each SSL_CTX.
 */

/* True if OpenSSL knows each word; else a fault with the first unknown one. */
bool tls_suites_check(const char *ciphers, struct tls_fault *fault);
bool tls_suites_check_groups(const char *groups, struct tls_fault *fault);

/*
 * Suites of TLS 1.3 are the words that begin with "TLS_"; a version that has none in the list keeps
 * h2d's own. False: OpenSSL accepts none of them.
 */
bool tls_suites_use(SSL_CTX *ssl, const char *ciphers);
bool tls_suites_use_groups(SSL_CTX *ssl, const char *groups);

/*
 * tls: the TLS transport. Records are gathered: ciphertext of one turn leaves in one send(2), and
 * is read in one recv(2), through buffers that all connections of the process share. An idle
 * connection never holds a buffer. Takes fd (non-blocking). ctx must outlive it. NULL when memory
 * is out; the caller still owns fd.
 */
struct transport *tls_open(const struct tls_ctx *ctx, int fd);
