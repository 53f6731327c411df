/*
 * tls_staple: an authority's statement about a certificate, and its end (OCSP, RFC 6960): read from
 * a file, and sent with the certificate to clients that ask (RFC 6066, 8; RFC 8446, 4.4.2.1). h2d
 * never requests one over the network. One that clients would refuse is not sent.
 */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

struct tls_staple;

/*
 * Reads file, the response for leaf; issuer: of leaf, NULL if unknown: then the signature is not
 * checked. leaf keeps it for as long as it lives. NULL, or why the file has no response; an unfit
 * one is one, too.
 */
const char *tls_staple_load(const char *file, X509 *leaf, X509 *issuer);
/* n bytes in place of the file. */
const char *tls_staple_parse(const unsigned char *der, size_t n, X509 *leaf, X509 *issuer);
/* The response of leaf; NULL: none. */
const struct tls_staple *tls_staple_of(const X509 *leaf);

/* Why it is not sent at now (seconds since 1970), a const string; NULL: it is. */
const char *tls_staple_unfit(const struct tls_staple *s, int64_t now);

/* Makes handshakes of ssl send those of its certificates. */
bool tls_staple_use(SSL_CTX *ssl);
