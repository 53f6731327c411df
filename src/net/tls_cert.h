/*
 * tls_cert: one certificate with its key, in an SSL_CTX that tls_ctx has set up. tls_ctx makes and
 * frees it. Any fault of the files ends in one line that names the file; once loaded it never
 * changes.
 */
#ifndef H2D_NET_TLS_CERT_H
#define H2D_NET_TLS_CERT_H

#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/slice.h"

struct tls_cert {
	SSL_CTX *ssl;
	char *certificate, *key;                /* the files */
	unsigned char id[SHA256_DIGEST_LENGTH]; /* of the leaf: two of one name differ */
	struct tls_cert *next;                  /* of its tls_ctx */
};

/* Why a certificate cannot be used. */
struct tls_fault {
	bool in_key;    /* the key is at fault, not the certificate */
	char text[512]; /* "certificate FILE: why", "certificate-key FILE: why", "TLS: why" */
};

/* Takes ssl, also when it fails. NULL with a fault. */
struct tls_cert *tls_cert_load(
	SSL_CTX *ssl, const char *certificate, const char *key, struct tls_fault *fault);

/*
 * Whether a client that verifies it takes it for host, a name, "192.0.2.1" or "[2001:db8::1]" (RFC
 * 9110, 4.3.4). Pure; slow: not for every request.
 */
bool tls_cert_covers(const struct tls_cert *c, struct slice host);

void tls_cert_free(struct tls_cert **c);

#endif
