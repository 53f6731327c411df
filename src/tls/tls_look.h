/*
 * tls_look: what an operator should know of a certificate that can be used. Called while a
 * generation is built, and for -t; reads the system's trusted certificates where it has to.
 */
#ifndef H2D_TLS_TLS_LOOK_H
#define H2D_TLS_TLS_LOOK_H

#include "tls/tls_cert.h"

/*
 * Why clients may not find the way from the leaf of p, which is one of c's, to a certificate that
 * they trust (RFC 8446, 4.4.2); NULL: nothing speaks against it. A const string.
 */
const char *tls_look_chain(const struct tls_cert *c, const struct tls_pair *p);

#endif
