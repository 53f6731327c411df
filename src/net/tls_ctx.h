/*
 * tls_ctx: an SSL_CTX for one certificate, made by the master before the fork (it may read keys as
 * root) and inherited by the workers, so that tickets are good for every worker of a generation.
 */
#ifndef H2D_NET_TLS_CTX_H
#define H2D_NET_TLS_CTX_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

struct tls_ctx {
	SSL_CTX *ssl;
};

struct tls_ctx_conf {
	const char *certificate;      /* PEM chain */
	const char *certificate_key;  /* PEM */
	bool tls12, tls13;            /* versions offered */
};

/* NULL with a message ("certificate FILE: why") in err. */
struct tls_ctx *tls_ctx_new(const struct tls_ctx_conf *conf, char *err, size_t errsize);
void tls_ctx_free(struct tls_ctx **ctx);

#endif
