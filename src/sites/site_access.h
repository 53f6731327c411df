/*
 * site_access: who may ask for the paths of a location, out of the configuration. For
 * site_locations.c.
 */
#ifndef H2D_SITES_SITE_ACCESS_H
#define H2D_SITES_SITE_ACCESS_H

#include "conf/conf.h"
#include "rules/site.h"
#include "sites/site_maker.h"

/* Addresses, subjects and users of location, as p has them; a fault for each that is wrong, where
 * it stands. public: everybody may write. */
void site_access_make(
	struct site_maker *m, struct location *location, const struct conf_scope *p, bool public);

/* The clients of limit-exempt, an IPv6 address with no more than client-prefix bits; NULL as below.
 */
const struct access *site_access_exempt(struct site_maker *m);

/* The clients of return-except; NULL: none, or memory is out. */
const struct access *site_access_except(struct site_maker *m, const struct conf_scope *from);

#endif
