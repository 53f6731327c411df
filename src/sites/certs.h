/*
 * certs: from sections tls to certificates, and to the authorities of clients (client-ca,
 * client-verify, client-crl): of each server block, the choice for a client, and warnings for the
 * operator. The master makes both with each generation and a worker looks names up in them; they
 * borrow their strings from the configuration and never outlive it.
 */
#pragma once

#include "conf/conf_fault.h"
#include "rules/site.h"
#include "tls/tls_ctx.h"

struct client_cas; /* below */

/* A certificate, or several for the same names, and its first section. */
struct certs_entry {
	struct tls_cert *cert;
	const struct conf_pairs *keys;
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

/* Makes a client get the certificate of the site that it names, and be asked for its own by the
 * authorities of that site; for other names by those of the default one. sites outlives c. */
void certs_choose(struct certs *c, const struct client_cas *cas, const struct sites *sites);

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

/* --- of clients ------------------------------------------------------------------------------- */

/* Authorities, and their first block. */
struct client_cas_entry {
	struct tls_client_ca *ca;
	const struct conf_server_tls *tls;
	bool doubt_said; /* the log has the reason that all clients of an authority are refused */
};

struct client_cas {
	struct client_cas_entry *entries; /* all; blocks of the same files share one */
	unsigned n;
	const struct tls_client_ca **of_server; /* per server block; NULL: requests none */
	bool any;                               /* some block requests certificates */
};

/* Loads all of them, also of blocks that request none. Each fault is at the line of its file;
 * client_cas_fini() is due either way. */
void client_cas_init(struct client_cas *c, const struct conf *conf, struct conf_faults *faults);

/* Warns of a list of e that is too old, or missing: once, until none is. */
void client_cas_check_lists(struct client_cas_entry *e, int64_t now, struct conf_faults *warnings);

/* Warns, each at its line, of lists that are too old at now (seconds since 1970) or missing, of
 * unused authorities, and of listeners that request no certificates. */
void client_cas_check(const struct client_cas *c, const struct conf *conf, int64_t now,
	struct conf_faults *warnings);

/* A client_cas of zeros is none. */
void client_cas_fini(struct client_cas *c);
