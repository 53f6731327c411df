/*
 * certs: from sections tls to certificates: which server block has which, which one is the
 * default, which one a client is shown, and what an operator should know of them. The master makes
 * it with each generation and a worker looks names up in it; it borrows its strings from the
 * configuration and never outlives it.
 */
#ifndef H2D_SITES_CERTS_H
#define H2D_SITES_CERTS_H

#include "conf/conf.h"
#include "rules/site.h"
#include "tls/tls_ctx.h"

/* Keys of a section tls, of either kind: the files of certificates, and where they are named. */
struct certs_keys {
	const struct conf_list *names[TLS_FILES]; /* of staples as many as of the others, or none */
	const struct conf_pos *at[TLS_FILES];
};

/* A certificate, or several for the same names, and the first section that has it. */
struct certs_entry {
	struct tls_cert *cert;
	struct certs_keys keys;
	struct site_expiry *expiries; /* of each of its pairs */
	bool staple_said;             /* the log has why its response is not sent any more */
};

struct certs {
	struct tls_ctx *tls;               /* NULL: no certificate is configured */
	const struct tls_cert **of_server; /* per server block */
	struct certs_entry *entries;
	unsigned n;
};

/*
 * Loads all of them. The default is that of section tls, else that of the default server, else the
 * first there is; a server without one has the default. 0, or -1 after at least one fault, each at
 * the line of its file; certs_fini() is due either way.
 */
int certs_init(struct certs *c, const struct conf *conf, conf_fault_fn *fault, void *ctx);

/* From now on a client that asks for the name of a site is shown that site's. sites outlives c. */
void certs_choose(struct certs *c, const struct sites *sites);

/* When those of a server block expire; *n 0: it has none. They are c's. */
const struct site_expiry *certs_expiries(const struct certs *c, unsigned server, unsigned *n);

/* When the first of all expires, in seconds since 1970; 0: there is none. */
int64_t certs_expire(const struct certs *c);

/* A certs of zeros is none. */
void certs_fini(struct certs *c);

/*
 * Warns, each at its line, of certificates that have expired or will within 14 days of now (seconds
 * since 1970), that clients may not trust, that are not good for a name of their server, whose OCSP
 * response is not sent, or whose key everybody may read.
 */
void certs_check(const struct certs *c, const struct conf *conf, int64_t now, conf_fault_fn *warn,
	void *ctx);

/* Warns of responses of e that are not sent any more: once, until all are again. warn NULL: it was
 * said. */
void certs_check_staples(struct certs_entry *e, int64_t now, conf_fault_fn *warn, void *ctx);

#endif
