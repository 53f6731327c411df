/*
 * tls_parcel: certificates on their way from the master to workers that may not read their files:
 * chains, keys and staples of one tls_cert, in a parcel (net/parcel.h). The master packs, workers
 * open.
 */
#ifndef H2D_NET_TLS_PARCEL_H
#define H2D_NET_TLS_PARCEL_H

#include "net/tls_cert.h"

/* A descriptor, the caller's, or -errno. */
int tls_parcel_pack(const struct tls_cert *c);

/*
 * The certificates in fd, which stays the caller's, n of them; takes ssl, also when it fails. Names
 * of files are not in it. NULL: memory is out, or it is no such parcel.
 */
struct tls_cert *tls_parcel_open(SSL_CTX *ssl, int fd, unsigned n);

#endif
