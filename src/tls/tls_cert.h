/*
 * tls_cert: what is shown for a name, in an SSL_CTX that tls_ctx has set up: a certificate with its
 * key, or several with keys of different kinds, of which each client is shown one that it takes.
 * tls_ctx makes and frees it. Any fault of the files ends in one line that names the file.
 */
#ifndef H2D_TLS_TLS_CERT_H
#define H2D_TLS_TLS_CERT_H

#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

enum tls_file { TLS_FILE_CERTIFICATE, TLS_FILE_KEY, TLS_FILE_STAPLE, TLS_FILES };

/* The files of one certificate, by enum tls_file; staple "": there is none. */
struct tls_files {
	const char *name[TLS_FILES];
};

/* One certificate, as it was read. */
struct tls_pair {
	char *files[TLS_FILES];
	const char *kind; /* of the key: "ecdsa", "rsa", …; a const string */
	X509 *leaf;
	int64_t expires; /* the leaf, in seconds since 1970; 0: it does not say */
};

struct tls_cert {
	SSL_CTX *ssl;
	struct tls_pair *pairs;
	unsigned npairs, room; /* room: for so many; all are there once it is complete */
	/* The hash of subjects and names: that of a renewed one is the same. */
	unsigned char id[SHA256_DIGEST_LENGTH];
	struct tls_cert *next; /* of its tls_ctx */
};

/* Why a certificate cannot be used. */
struct tls_fault {
	enum tls_file in; /* the file that is at fault */
	char text[512];   /* "certificate FILE: why", "certificate-key FILE: why", "TLS: why" */
};

/* Takes ssl, also when it fails. n files, not 0. NULL with a fault. */
struct tls_cert *tls_cert_load(
	SSL_CTX *ssl, const struct tls_files *files, unsigned n, struct tls_fault *fault);

/*
 * Whether a client that verifies takes each of them for host, a name, "192.0.2.1" or
 * "[2001:db8::1]" (RFC 9110, 4.3.4). Pure; slow: not for every request.
 */
bool tls_cert_covers(const struct tls_cert *c, struct slice host);

/* So for one alone. */
bool tls_pair_covers(const struct tls_pair *p, struct slice host);

/*
 * Why clients may not find the way from the leaf of p, which is one of c's, to a certificate that
 * they trust (RFC 8446, 4.4.2); NULL: nothing speaks against it. A const string. Reads what this
 * machine trusts.
 */
const char *tls_pair_doubt(const struct tls_cert *c, const struct tls_pair *p);

void tls_cert_free(struct tls_cert **c);

#endif
