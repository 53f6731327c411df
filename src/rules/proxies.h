/*
 * proxies: whom the configuration lets say who a client is (trusted-proxies), and where they say it
 * of a request (client-address). Made with the sites (sites/sites.c), read by connections and
 * requests. Pure.
 */
#ifndef H2D_RULES_PROXIES_H
#define H2D_RULES_PROXIES_H

#include "base/addr_range.h"
#include "base/conf_pos.h"

enum proxies_field {
	PROXIES_NO_FIELD, /* the address is the connection's */
	PROXIES_X_FORWARDED_FOR,
	PROXIES_FORWARDED,
	PROXIES_NAMED, /* one address in the field of that name */
};

struct proxies {
	const struct addr_range *ranges;
	unsigned n;
	bool any_unix; /* whoever comes over a unix socket */
	enum proxies_field field;
	struct slice name;               /* of PROXIES_NAMED, lower case */
	const struct conf_pos *field_at; /* where the configuration says so; NULL in tests */
};

/*
 * "10.0.0.0/8", "2001:db8::1" or "unix": goes into *p, whose ranges are room's, which has room for
 * it. NULL, or what is wrong with it, a const string.
 */
const char *proxies_add(struct proxies *p, struct addr_range *room, const char *text);

/* Whether what comes from this address is believed. Never of one that is not known. */
bool proxies_trust(const struct proxies *p, const struct addr *from);

#endif
