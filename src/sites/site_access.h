/*
 * site_access: who may ask for the paths of a location, out of the configuration. For
 * site_locations.c.
 */
#ifndef H2D_SITES_SITE_ACCESS_H
#define H2D_SITES_SITE_ACCESS_H

#include "conf/conf.h"
#include "rules/site.h"
#include "sites/site_maker.h"

/* The scope that decides about key: the location's if that sets it, else the server's. l may be
 * NULL. */
#define IN_EFFECT(s, l, key) \
	((l) != NULL && (l)->scope.key##_at.file != NULL ? &(l)->scope : &(s)->scope)

/* Addresses, subjects and users of location; a fault for each that is wrong, where it stands. l
 * may be NULL: location is that of s. */
void site_access_make(struct site_maker *m, struct location *location, const struct conf_server *s,
	const struct conf_location *l);

/* The clients of limit-exempt, an IPv6 address with no more than client-prefix bits; NULL as below.
 */
const struct access *site_access_exempt(struct site_maker *m);

/* The clients of return-except; NULL: none, or memory is out. */
const struct access *site_access_except(struct site_maker *m, const struct conf_scope *from);

#endif
