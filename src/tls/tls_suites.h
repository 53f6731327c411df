/*
 * tls_suites: which cipher suites and groups a server takes, as lists of OpenSSL's words, "A:B";
 * "auto" and NULL are h2d's own choice. The master checks them and has each SSL_CTX use them.
 */
#ifndef H2D_TLS_TLS_SUITES_H
#define H2D_TLS_TLS_SUITES_H

#include "tls/tls_cert.h"

/* Whether OpenSSL knows each word; else a fault that has the first one that it does not. */
bool tls_suites_check(const char *ciphers, struct tls_fault *fault);
bool tls_suites_check_groups(const char *groups, struct tls_fault *fault);

/*
 * Suites of TLS 1.3 are the words that begin with "TLS_"; a version that has none in the list keeps
 * h2d's own. False: OpenSSL lets none of them through.
 */
bool tls_suites_use(SSL_CTX *ssl, const char *ciphers);
bool tls_suites_use_groups(SSL_CTX *ssl, const char *groups);

/* ALPN asks whether the suite that was chosen is fit for HTTP/2 (RFC 9113, 9.2.2). */
bool tls_suites_carry_h2(const SSL *ssl);

#endif
