/*
 * site_locations: the rules of a server block and of its locations, as the request core reads them
 * (struct location of rules/site.h). For sites.c.
 */
#ifndef H2D_SITES_SITE_LOCATIONS_H
#define H2D_SITES_SITE_LOCATIONS_H

#include "conf/conf.h"
#include "rules/site.h"
#include "sites/site_maker.h"

/* The fields that the top level adds to those of all servers; NULL when memory is out. */
const struct location *site_locations_top(struct site_maker *m, const struct conf *conf);

/*
 * Sets site->all and site->locations, the longest first. site has its root; roots: the number of
 * each location's. What is wrong goes to m, which has its top.
 */
void site_locations_make(struct site_maker *m, struct site *site, const struct conf_server *s,
	const unsigned *roots);

#endif
