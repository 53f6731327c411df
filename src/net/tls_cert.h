/*
 * tls_cert: what is shown for a name, in an SSL_CTX that tls_ctx has set up: a certificate with its
 * key, or several with keys of different kinds, of which each client is shown one that it takes.
 * tls_ctx makes and frees it. Any fault of the files ends in one line that names the file.
 */
#ifndef H2D_NET_TLS_CERT_H
#define H2D_NET_TLS_CERT_H

#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/file_seen.h"
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
	struct file_seen seen[TLS_FILES];
};

struct tls_cert {
	SSL_CTX *ssl;
	struct tls_pair *pairs;
	unsigned npairs, room; /* room: for so many; all are there once it is complete */
	/* The hash of subjects and names: one that is renewed is the same. */
	unsigned char id[SHA256_DIGEST_LENGTH];
	unsigned char content[SHA256_DIGEST_LENGTH]; /* the hash of all that is shown */
	struct tls_cert *next;                       /* of its tls_ctx */
};

/* Why a certificate cannot be used. */
struct tls_fault {
	enum tls_file in; /* the file that is at fault */
	char text[512];   /* "certificate FILE: why", "certificate-key FILE: why", "TLS: why" */
};

/* Takes ssl, also when it fails. n files, not 0. NULL with a fault. */
struct tls_cert *tls_cert_load(
	SSL_CTX *ssl, const struct tls_files *files, unsigned n, struct tls_fault *fault);

/* Notes how the files are now, as tls_cert_load() does before it reads them. */
void tls_cert_look(struct tls_cert *c);

/* Whether a file is another than when it was noted last, or may be. */
bool tls_cert_changed(const struct tls_cert *c);

/*
 * From now on c shows what `from` has, which gets what c had: of the same files, or of none.
 * Connections go on with what they were shown.
 */
void tls_cert_swap(struct tls_cert *c, struct tls_cert *from);

/* Without files: an empty one that takes ssl, also when memory is out (NULL), with room for n. */
struct tls_cert *tls_cert_new(SSL_CTX *ssl, unsigned n);

/*
 * The next one is that which was put into c's SSL_CTX last, with its key; behind the last one c is
 * complete. False, for the first with a fault: it is good for nothing.
 */
bool tls_cert_enter(struct tls_cert *c, struct tls_fault *fault);
bool tls_cert_end(struct tls_cert *c);

/*
 * Whether a client that verifies takes each of them for host, a name, "192.0.2.1" or
 * "[2001:db8::1]" (RFC 9110, 4.3.4). Pure; slow: not for every request.
 */
bool tls_cert_covers(const struct tls_cert *c, struct slice host);

/* So for one alone. */
bool tls_pair_covers(const struct tls_pair *p, struct slice host);

void tls_cert_free(struct tls_cert **c);

#endif
