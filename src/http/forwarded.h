/*
 * forwarded: who a request was forwarded for, as the fields forwarded (RFC 7239) and
 * x-forwarded-for say it: each proxy adds the address it has the request from at the right. Read
 * from right to left, so that what a client has written in front is never looked at before all
 * that stands behind it. Pure.
 */
#ifndef H2D_HTTP_FORWARDED_H
#define H2D_HTTP_FORWARDED_H

#include "base/addr.h"

struct forwarded {
	struct addr from; /* AF_INET or AF_INET6; AF_UNSPEC: not told, or malformed */
	bool https;       /* it came from there by https; of forwarded only */
};

/*
 * Each cuts the last element off a value; false: there is none left. Empty elements are skipped.
 * Of a malformed element nothing is told.
 */
bool forwarded_last(struct slice *value, struct forwarded *f);
bool forwarded_last_x(struct slice *value, struct forwarded *f);

/* Whether the last element of a value of x-forwarded-proto is https. */
bool forwarded_is_https(struct slice value);

#endif
