/*
 * tls_renewal: what comes of reading files anew that have changed, of certificates (tls_ctx.h) and
 * of authorities (tls_client_ca.h).
 */
#ifndef H2D_NET_TLS_RENEWAL_H
#define H2D_NET_TLS_RENEWAL_H

enum tls_renewal {
	TLS_RENEWAL_TAKEN,
	TLS_RENEWAL_SAME,   /* the files say what they said before */
	TLS_RENEWAL_FAULTY, /* they cannot be used: a fault */
	TLS_RENEWAL_AGAIN,  /* they were changed meanwhile: to be looked at again soon */
};

#endif
