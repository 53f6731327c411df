/*
 * certs: from sections tls to certificates: of each server block, the default one, the choice for a
 * client, and warnings for the operator. The master makes it with each generation and a worker
 * looks names up in it; it borrows its strings from the configuration and never outlives it.
 */
#pragma once

#include "conf/conf_fault.h"
#include "rules/site.h"
#include "tls/tls_ctx.h"

/* Keys of a section tls, of either kind: the files of certificates, and their lines. */
struct certs_keys {
	const struct conf_list *names[TLS_FILES]; /* as many staples as others, or none */
	const struct conf_pos *at[TLS_FILES];
};

/* A certificate, or several for the same names, and its first section. */
struct certs_entry {
	struct tls_cert *cert;
	struct certs_keys keys;
	struct site_expiry *expiries; /* of each of its pairs */
	bool staple_said;             /* the log has the reason that its response is no longer
				       * sent */
};

struct certs {
	struct tls_ctx *tls;               /* NULL: no certificate is configured */
	const struct tls_cert **of_server; /* per server block */
	struct certs_entry *entries;
	unsigned n;
};

/*
 * Loads all of them. The default is that of section tls, else that of the default server, else the
 * first one; a server without one has the default. Each fault is at the line of its file;
 * certs_fini() is due either way.
 */
void certs_init(struct certs *c, const struct conf *conf, struct conf_faults *faults);

/* Makes a client get the certificate of the site that it names. sites outlives c. */
void certs_choose(struct certs *c, const struct sites *sites);

/* The expiries of a server block's certificates; *n 0: none. c owns them. */
const struct site_expiry *certs_expiries(const struct certs *c, unsigned server, unsigned *n);

/* The first expiry of all, in seconds since 1970; 0: none. */
int64_t certs_expire(const struct certs *c);

/* A certs of zeros is none. */
void certs_fini(struct certs *c);

/*
 * Warns, each at its line, of certificates that have expired or will within 14 days of now (seconds
 * since 1970), that clients may not trust, that do not cover a name of their server, whose OCSP
 * response is not sent, or whose key all users may read.
 */
void certs_check(
	const struct certs *c, const struct conf *conf, int64_t now, struct conf_faults *warnings);

/* Warns of responses of e that are no longer sent: once, until all are again. */
void certs_check_staples(struct certs_entry *e, int64_t now, struct conf_faults *warnings);
