/*
 * access: allow and deny by address range. The most specific range that holds the peer's address
 * decides; of two equal ones deny does; of none: refused if anything is allowed by name, else allowed.
 * Pure.
 */
#ifndef H2D_HTTP_ACCESS_H
#define H2D_HTTP_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct access_range {
	uint8_t address[16];   /* IPv4 as ::ffff:a.b.c.d */
	unsigned bits;         /* of 128 */
	bool is_unix;          /* "unix": peers on unix: listeners; address and bits are 0 */
	bool is_all;           /* "all": every peer; likewise */
	bool allow;
};

struct access {
	const struct access_range *ranges;
	unsigned n;
};

/*
 * "10.0.0.0/8", "2001:db8::1", "unix", "all" (IPv4, IPv6, and peers on unix: listeners; "::/0" is IPv6
 * alone). NULL, or what is wrong with it, a const string. r->allow is the caller's.
 */
const char *access_parse(const char *text, struct access_range *r);

/* peer: as struct http_conn has it. One that is no address and not "unix" is refused by any rule. */
bool access_allows(const struct access *a, struct slice peer);

#endif
