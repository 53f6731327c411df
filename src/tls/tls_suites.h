/*
 * tls_suites: a server's cipher suites and groups, as lists of OpenSSL's words, "A:B"; "auto" and
 * NULL are h2d's own choice. The master checks them and sets them in each SSL_CTX.
 */
#pragma once

#include "tls/tls_cert.h"

/* True if OpenSSL knows each word; else a fault with the first unknown one. */
bool tls_suites_check(const char *ciphers, struct tls_fault *fault);
bool tls_suites_check_groups(const char *groups, struct tls_fault *fault);

/*
 * Suites of TLS 1.3 are the words that begin with "TLS_"; a version that has none in the list keeps
 * h2d's own. False: OpenSSL accepts none of them.
 */
bool tls_suites_use(SSL_CTX *ssl, const char *ciphers);
bool tls_suites_use_groups(SSL_CTX *ssl, const char *groups);

/* For ALPN: true if the chosen suite is fit for HTTP/2 (RFC 9113, 9.2.2). */
bool tls_suites_carry_h2(const SSL *ssl);
