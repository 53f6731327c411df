/*
 * certs_check: what an operator should know of certificates that can be used. Called for -t, a
 * start and a reload, in the master.
 */
#ifndef H2D_SITES_CERTS_CHECK_H
#define H2D_SITES_CERTS_CHECK_H

#include "sites/certs.h"

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
