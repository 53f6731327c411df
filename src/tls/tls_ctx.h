/*
 * tls_ctx: the certificates of one generation, and which of them a connection shows. The master
 * makes it before the fork (it may read keys as root) and the workers inherit it, so that tickets
 * are good for every worker of a generation. Workers never change it.
 */
#ifndef H2D_TLS_TLS_CTX_H
#define H2D_TLS_TLS_CTX_H

#include "tls/tls_cert.h"
#include "tls/tls_client_ca.h"

/*
 * The certificate for the name that a client asks for (SNI), as it wrote it; n 0: it asks for none.
 * NULL is the default one.
 */
typedef const struct tls_cert *tls_choose(const void *owner, struct slice name);

/* By which authorities that client is asked for a certificate; NULL: it is not. */
typedef const struct tls_client_ca *tls_ask(const void *owner, struct slice name);

struct tls_ctx {
	bool tls12, tls13; /* versions offered */
	bool no_tickets;   /* nor any other way to resume */
	bool rejects;      /* names that choose does not know, and none: there is no default */
	/* As in tls/tls_suites.h; NULL: h2d's own choice. */
	const char *ciphers, *groups;
	struct tls_cert *certs;
	struct tls_cert *first; /* the default: of those that are asked for no name that is known */
	tls_choose *choose;     /* NULL: always the default */
	tls_ask *ask;           /* NULL: nobody is asked for a certificate */
	const void *owner;      /* of choose and ask */
};

/* NULL when memory is out. No connection before the first certificate. */
struct tls_ctx *tls_ctx_new(bool tls12, bool tls13);

/*
 * One more certificate, or several for the same names (n files); that of the same files if it is
 * there already. The first is the default. Lives as long as ctx. NULL with a fault.
 */
struct tls_cert *tls_ctx_add(
	struct tls_ctx *ctx, const struct tls_files *files, unsigned n, struct tls_fault *fault);

void tls_ctx_free(struct tls_ctx **ctx);

#endif
