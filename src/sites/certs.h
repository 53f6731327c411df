/*
 * certs: from sections tls to certificates: which server block has which, which one is the
 * default, and which one a client is shown. The master makes it with each generation and a worker
 * looks names up in it; it borrows its strings from the configuration and never outlives it.
 */
#ifndef H2D_SITES_CERTS_H
#define H2D_SITES_CERTS_H

#include "conf/conf.h"
#include "net/tls_ctx.h"
#include "request/site.h"

struct certs {
	struct tls_ctx *tls;    /* NULL: no certificate is configured */
	const void **of_server; /* per server block, for struct site */
};

/*
 * Loads all of them. The default is that of section tls, else that of the default server, else the
 * first there is; a server without one has the default. 0, or -1 after at least one fault, each at
 * the line of its file; certs_fini() is due either way.
 */
int certs_init(struct certs *c, const struct conf *conf, conf_fault_fn *fault, void *ctx);

/* From now on a client that asks for the name of a site is shown that site's. sites outlives c. */
void certs_choose(struct certs *c, const struct sites *sites);

/*
 * Warns, each at its line, of certificates that have expired or will within 14 days of now (seconds
 * since 1970), that clients may not trust, or that are not good for a name of their server.
 */
void certs_check(const struct certs *c, const struct conf *conf, int64_t now, conf_fault_fn *warn,
	void *ctx);

/* When the first of them expires, in seconds since 1970; 0: there is none. */
int64_t certs_expire(const struct certs *c);

/* A certs of zeros is none. */
void certs_fini(struct certs *c);

#endif
