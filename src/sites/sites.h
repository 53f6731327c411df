/*
 * sites: from server blocks to what the request core reads (rules/site.h). The master makes them
 * once per generation, before the fork; -t makes them too, because what the configuration says of
 * HTTP (names and values of fields, address ranges) is checked here. The strings are the
 * configuration's, and workers never change a site.
 */
#ifndef H2D_SITES_SITES_H
#define H2D_SITES_SITES_H

#include "conf/conf.h"
#include "rules/site.h"
#include "sites/certs.h"
#include "sites/trees.h"

/* Per server block, what struct site has of TLS; NULL: all have none. */
struct sites_tls {
	const struct certs *certs;
	const struct tls_client_ca *const *client_cas;
};

/* In a, which outlives it. NULL after at least one fault, each at the position of its key. */
const struct sites *sites_make(const struct conf *conf, const struct trees *trees,
	struct sites_tls tls, struct arena *a, conf_fault_fn *fault, void *ctx);

#endif
