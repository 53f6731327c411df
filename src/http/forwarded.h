/*
 * forwarded: the client of a forwarded request, by the headers forwarded (RFC 7239) and
 * x-forwarded-for: each proxy adds the address of its client at the right. Read from right to left,
 * so that a proxy's part is read before any text that the client wrote. Pure.
 */
#pragma once

#include "base/addr.h"

struct forwarded {
	struct addr from; /* AF_INET or AF_INET6; AF_UNSPEC: unknown, or malformed */
	bool https;       /* the client used https; of forwarded only */
};

/*
 * Cuts the last element off a value; false: none left. Empty elements are skipped. A malformed
 * element gives no facts.
 */
bool forwarded_last(struct slice *value, struct forwarded *f);
bool forwarded_last_x(struct slice *value, struct forwarded *f);

/* True if the last element of a value of x-forwarded-proto is https. */
bool forwarded_is_https(struct slice value);
