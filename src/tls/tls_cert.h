/*
 * tls_cert: the certificate for a name, in an SSL_CTX set up by tls_ctx: one with its key, or
 * several with keys of different kinds, of which each client gets one that it accepts. tls_ctx
 * makes and frees it. Any fault of the files becomes one line that names the file.
 */
#pragma once

#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/slice.h"

enum tls_file { TLS_FILE_CERTIFICATE, TLS_FILE_KEY, TLS_FILE_STAPLE, TLS_FILES };

/* The files of one certificate, by enum tls_file; staple "": none. */
struct tls_files {
	const char *name[TLS_FILES];
};

/* One certificate and its facts. */
struct tls_pair {
	const char *files[TLS_FILES];
	const char *kind; /* of the key: "ecdsa", "rsa", …; a const string */
	X509 *leaf;
	int64_t expires; /* the leaf, in seconds since 1970; 0: unknown */
};

struct tls_cert {
	SSL_CTX *ssl;
	unsigned npairs;
	/* The hash of subjects and names: a renewed one has the same. */
	unsigned char id[SHA256_DIGEST_LENGTH];
	struct tls_cert *next; /* of its tls_ctx */
	struct tls_pair pairs[];
};

/* Why a certificate cannot be used. */
struct tls_fault {
	enum tls_file in; /* the faulty file */
	char text[512];   /* "certificate FILE: why", "certificate-key FILE: why", "TLS: why" */
};

/* Takes ssl, also when it fails. n files, not 0, whose names outlive it. NULL with a fault. */
struct tls_cert *tls_cert_load(
	SSL_CTX *ssl, const struct tls_files *files, unsigned n, struct tls_fault *fault);

/*
 * True if a verifying client accepts each of them for host, a name, "192.0.2.1" or "[2001:db8::1]"
 * (RFC 9110, 4.3.4). Pure; slow: not for every request.
 */
bool tls_cert_covers(const struct tls_cert *c, struct slice host);

/* Checks one pair likewise. */
bool tls_pair_covers(const struct tls_pair *p, struct slice host);

/*
 * Why clients may not find a path from the leaf of p, one of c's, to a certificate that they trust
 * (RFC 8446, 4.4.2); NULL: no reason. A const string. Reads this machine's trusted ones.
 */
const char *tls_pair_doubt(const struct tls_cert *c, const struct tls_pair *p);

void tls_cert_free(struct tls_cert **c);

/* A time in seconds since 1970; 0: unknown. */
static inline int64_t tls_cert_seconds(const ASN1_TIME *t)
{
	struct tm tm;

	return t != NULL && ASN1_TIME_to_tm(t, &tm) == 1 ? timegm(&tm) : 0;
}

/* Why OpenSSL cannot read a file, by its first error, the nearest to the cause. */
const char *tls_cert_reason(void);
