/*
 * client_cas: from the keys client-ca, client-verify and client-crl to the authorities of a server
 * block's clients. The master makes it with each generation, and handshakes look names up in it; it
 * borrows its strings from the configuration and never outlives it.
 */
#pragma once

#include "conf/conf_fault.h"
#include "rules/site.h"
#include "tls/tls_ctx.h"

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

/* Makes handshakes of tls (NULL: none) use the authorities of the named site, for other names of
 * the default one. tls has the sites. */
void client_cas_use(const struct client_cas *c, struct tls_ctx *tls);

/* Warns of a list of e that is too old, or missing: once, until none is. */
void client_cas_check_lists(struct client_cas_entry *e, int64_t now, struct conf_faults *warnings);

/* Warns, each at its line, of lists that are too old at now (seconds since 1970) or missing, of
 * unused authorities, and of listeners that request no certificates. */
void client_cas_check(const struct client_cas *c, const struct conf *conf, int64_t now,
	struct conf_faults *warnings);

/* A client_cas of zeros is none. */
void client_cas_fini(struct client_cas *c);
