/*
 * limits: the configured rates of each client: one over it is refused, or only logged (dry-run).
 * Made with the sites, asked by requests and connections; the tally of all workers has the counts.
 */
#ifndef H2D_REQUEST_LIMITS_H
#define H2D_REQUEST_LIMITS_H

#include "request/req.h"
#include "share/tally.h"

/* For a location with a rate: counts one request more. False: it was answered 429. */
bool limits_take_request(struct h2d_req *req);

static inline bool limits_pass(struct h2d_req *req)
{
	return __builtin_expect(req->location->requests == NULL, true) || limits_take_request(req);
}

#endif
