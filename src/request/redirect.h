/*
 * redirect: the location field of redirects that the configuration asks for. Pure; what a client
 * sent goes into it encoded, and never in front of the path.
 */
#ifndef H2D_REQUEST_REDIRECT_H
#define H2D_REQUEST_REDIRECT_H

#include <stdint.h>

#include "base/arena.h"
#include "request/site.h"

/* "https://HOST[:PORT]TARGET" in a; no port if it is 443. p NULL when a is spent. */
struct slice redirect_to_https(
	struct slice host, uint16_t port, struct slice target, struct arena *a);

/*
 * Where location sends path (decoded, owned by location) and query. If it keeps the path, what is
 * behind redirect_prefix goes behind the target, and the query; else the target is taken as it is.
 * p NULL when a is spent.
 */
struct slice redirect_location(
	const struct location *location, struct slice path, struct slice query, struct arena *a);

#endif
