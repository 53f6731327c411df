/*
 * redirect: the location field of redirects that the configuration asks for. Pure; what a client
 * sent goes into it encoded, and never in front of the path.
 */
#ifndef H2D_REQUEST_REDIRECT_H
#define H2D_REQUEST_REDIRECT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"

/* The redirect of a location. */
struct redirect {
	struct slice to;     /* URL or path; n 0: none */
	struct slice prefix; /* of the block that says so: the target takes its place */
	int status;
	bool keeps; /* the rest of the path and the query go behind the target */
};

/* "https://HOST[:PORT]TARGET" in a; no port if it is 443. p NULL when a is spent. */
struct slice redirect_to_https(
	struct slice host, uint16_t port, struct slice target, struct arena *a);

/*
 * The target for path (decoded, of the location) and query: if it keeps the path, the rest of it
 * behind the prefix goes behind the target, and the query. p NULL when a is spent.
 */
struct slice redirect_location(
	const struct redirect *r, struct slice path, struct slice query, struct arena *a);

#endif
