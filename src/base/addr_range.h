/*
 * addr_range: ranges of IP addresses in CIDR notation, as access rules and lists of trusted
 * proxies name them. Addresses are compared as bits, IPv4 as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2).
 * The configuration parses ranges, requests are compared with them; the functions are pure.
 */
#ifndef H2D_BASE_ADDR_RANGE_H
#define H2D_BASE_ADDR_RANGE_H

#include "base/addr.h"

enum { ADDR_RANGE_BITS = 128 };

#define ADDR_RANGE_NO_ADDRESS "not an IPv4 or IPv6 address"

struct addr_range {
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	unsigned bits;       /* of ADDR_RANGE_BITS */
};

/* "10.0.0.0/8", "192.0.2.1", "2001:db8::/32". NULL, or what is wrong with it, a const string. */
const char *addr_range_parse(const char *text, struct addr_range *r);

/*
 * Whether a is in r. An IPv4-mapped address counts as the IPv4 address in it, which is in no IPv6
 * range that is wider than all of IPv4 ("::/0" is IPv6 alone). A unix socket's is in none.
 */
bool addr_range_contains(const struct addr_range *r, const struct addr *a);

#endif
