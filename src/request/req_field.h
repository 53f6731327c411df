/*
 * req_field: the regular headers of a request. HTTP/2 lets a client send each cookie in a separate
 * header (RFC 9113, 8.2.3), and browsers do: they count as one header, and become one when it is
 * read.
 */
#pragma once

#include "request/req.h"

/* Makes room for as many headers as most requests have. */
void req_field_init(struct h2d_req *req);

/*
 * Adds a header. The bytes must live until req_fini(). Counts its size (also beyond a limit, where
 * it is not kept). 0, or -1 when memory is out.
 */
int req_field_add(struct h2d_req *req, struct slice name, struct slice value);

/*
 * Makes one header of all cookies, in the place of the first. 0, or -1 when memory is out: they are
 * unchanged.
 */
int req_field_join_cookies(struct h2d_req *req);

/* True if the client waits for 100 before it sends the body (RFC 9110, 10.1.1). */
static inline bool req_expects_continue(const struct h2d_req *req)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("expect"));

	return f != NULL && req->has_body && slice_ieq(f->value, SLICE("100-continue")) &&
	       !slice_eq(req->protocol, SLICE("HTTP/1.0"));
}
