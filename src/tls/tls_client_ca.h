/*
 * tls_client_ca: the authorities whose certificates clients may show, the certificates that those
 * have revoked, and what became of the one that a client has shown. The master reads the files
 * before the fork; a handshake never fails for a certificate: who asks for
 * something is answered by HTTP, with the reason in the log.
 */
#ifndef H2D_TLS_TLS_CLIENT_CA_H
#define H2D_TLS_TLS_CLIENT_CA_H

#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stdbool.h>

struct tls_client_ca {
	char *file, *crl; /* crl "": nothing is revoked */
	X509_STORE *store;
	STACK_OF(X509_NAME) * names;            /* of the authorities: clients are told */
	unsigned char id[SHA256_DIGEST_LENGTH]; /* of what is in the files */
};

/* Why they cannot be used: "client-ca FILE: why", "client-crl FILE: why". */
struct tls_client_ca_fault {
	bool in_crl;
	char text[512];
};

/* The outcome of a handshake; strings are its own. All NULL: nothing was asked for, or shown. */
struct tls_client {
	char *subject; /* RFC 4514; NULL: none is known */
	char *refused; /* why the certificate is not good, and whose it says it is */
};

/* NULL with a fault. */
struct tls_client_ca *tls_client_ca_load(
	const char *file, const char *crl, struct tls_client_ca_fault *fault);

/*
 * Clients are refused for a list that is too old at now (seconds since 1970), or that an authority
 * has not got: a text in buf that says so, or NULL.
 */
const char *tls_client_ca_doubt(
	const struct tls_client_ca *ca, int64_t now, char *buf, size_t size);

/* Has each certificate that comes in handshakes of ssl checked, and none end them. */
void tls_client_ca_prepare(SSL_CTX *ssl);

/* From the ClientHello on: the client is asked for a certificate; NULL: it is not. */
bool tls_client_ca_ask(SSL *ssl, const struct tls_client_ca *ca);

/* The authorities by which the client of ssl was asked; NULL: it was not. */
const struct tls_client_ca *tls_client_ca_of(const SSL *ssl);

/* Behind a handshake, a resumed one, too. */
void tls_client_ca_find(SSL *ssl, struct tls_client *client);

void tls_client_clear(struct tls_client *client);

void tls_client_ca_free(struct tls_client_ca **ca);

#endif
