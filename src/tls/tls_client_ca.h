/*
 * tls_client_ca: the authorities of clients' certificates, their revoked certificates, and the
 * outcome for a client. The master reads the files before the fork; a handshake never fails for a
 * certificate: the client's requests are answered by HTTP, with the reason in the log.
 */
#pragma once

#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stdbool.h>

struct tls_client_ca {
	const char *file, *crl; /* crl "": no list of revoked ones */
	X509_STORE *store;
	STACK_OF(X509_NAME) * names;            /* of the authorities: sent to clients */
	unsigned char id[SHA256_DIGEST_LENGTH]; /* of the files' content */
};

/* The reason that they cannot be used: "client-ca FILE: why", "client-crl FILE: why". */
struct tls_client_ca_fault {
	bool in_crl;
	char text[512];
};

/* The outcome of a handshake; it owns its strings. All NULL: none requested, or sent. */
struct tls_client {
	char *subject; /* RFC 4514; NULL: none is known */
	char *refused; /* the reason against the certificate, and its subject */
};

/* The names outlive it. NULL with a fault. */
struct tls_client_ca *tls_client_ca_load(
	const char *file, const char *crl, struct tls_client_ca_fault *fault);

/*
 * Reports a list that is too old at now (seconds since 1970), or missing for an authority, so that
 * clients are refused: a text in buf, or NULL.
 */
const char *tls_client_ca_doubt(
	const struct tls_client_ca *ca, int64_t now, char *buf, size_t size);

/* Makes handshakes of ssl check each certificate, and never end for one. */
void tls_client_ca_prepare(SSL_CTX *ssl);

/* From the ClientHello on: requests a certificate from the client; NULL: none. */
bool tls_client_ca_ask(SSL *ssl, const struct tls_client_ca *ca);

/* The authorities requested from the client of ssl; NULL: none. */
const struct tls_client_ca *tls_client_ca_of(const SSL *ssl);

/* Called after a handshake, a resumed one, too. */
void tls_client_ca_find(SSL *ssl, struct tls_client *client);

void tls_client_clear(struct tls_client *client);

void tls_client_ca_free(struct tls_client_ca **ca);
