/*
 * limits: what each client may ask for by rate, as the configuration says: who is over it is
 * refused, or only named in the log (dry-run). Made with the sites, asked by requests and
 * connections; what clients have had is in the tally of all workers.
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
