/*
 * sites: from server blocks to the request core's settings (rules/site.h). The master makes them
 * once per generation, before the fork; -t makes them too, because the configuration's HTTP parts
 * (names and values of headers, address ranges) are checked here. The configuration owns the
 * strings, and workers never change a site.
 */
#pragma once

#include "conf/conf.h"
#include "rules/site.h"
#include "sites/certs.h"
#include "sites/trees.h"

/* Makes them in a, which outlives it, with certs and client_cas, per server block (NULL: none for
 * all). NULL after at least one fault, each at the position of its key. */
const struct sites *sites_make(const struct conf *conf, const struct trees *trees,
	const struct certs *certs, const struct tls_client_ca *const *client_cas, struct arena *a,
	struct conf_faults *faults);

/* Warns of mistakes in values of cache-control (site_locations.c). */
void site_locations_warn(const struct site *site, struct conf_faults *warnings);
