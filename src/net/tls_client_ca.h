/*
 * tls_client_ca: the authorities whose certificates clients may show, the certificates that those
 * have revoked, and what became of the one that a client has shown. The master reads the files,
 * before the fork and when they change; a handshake never fails for a certificate: who asks for
 * something is answered by HTTP, with the reason in the log.
 */
#ifndef H2D_NET_TLS_CLIENT_CA_H
#define H2D_NET_TLS_CLIENT_CA_H

#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/file_seen.h"
#include "net/tls_renewal.h"

struct tls_client_ca {
	char *file, *crl; /* crl "": nothing is revoked */
	X509_STORE *store;
	STACK_OF(X509_NAME) * names;            /* of the authorities: clients are told */
	unsigned char id[SHA256_DIGEST_LENGTH]; /* of what is in the files */
	struct file_seen file_seen, crl_seen;   /* when they were read last, or tried */
};

/* Why they cannot be used: "client-ca FILE: why", "crl FILE: why". */
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

/* Whether a file is another than when it was read last, or may be. */
bool tls_client_ca_changed(const struct tls_client_ca *ca);

/*
 * Reads the files of ca anew. Handshakes that begin from now on are by what is in them, if it was
 * taken, and tickets of before are good for nothing; else, a fault included, ca stays as it is.
 */
enum tls_renewal tls_client_ca_renew(struct tls_client_ca *ca, struct tls_client_ca_fault *fault);

/* A parcel (net/parcel.h) of ca for other processes: a descriptor, the caller's, or -errno. */
int tls_client_ca_pack(const struct tls_client_ca *ca);

/* The content of the files of ca out of the parcel in fd, the caller's; NULL: it is none, or memory
 * is out. Any thread may call it, and tls_client_ca_free(). */
struct tls_client_ca *tls_client_ca_open(const struct tls_client_ca *ca, int fd);

/* From now on handshakes by ca are by what `from`, of the same files, has, and from has what ca
 * had: handshakes under way hold what they began with. */
void tls_client_ca_swap(struct tls_client_ca *ca, struct tls_client_ca *from);

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

/* Behind a handshake, a resumed one, too: ssl lets go of the authorities that it was by. */
void tls_client_ca_find(SSL *ssl, struct tls_client *client);

void tls_client_clear(struct tls_client *client);

void tls_client_ca_free(struct tls_client_ca **ca);

#endif
