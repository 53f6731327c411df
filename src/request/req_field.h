/*
 * req_field: the regular fields of a request's head. HTTP/2 lets a client send each cookie in a
 * field of its own (RFC 9113, 8.2.3), and browsers do: they count as one field, and become one
 * where somebody asks for it.
 */
#ifndef H2D_REQUEST_REQ_FIELD_H
#define H2D_REQUEST_REQ_FIELD_H

#include "request/req.h"

/* Makes room for as many fields as most requests have. */
void req_field_init(struct h2d_req *req);

/*
 * Adds a field. The bytes must live until req_fini(). Counts its size (also of those past a limit,
 * which are not kept). 0, or -1 when memory is out.
 */
int req_field_add(struct h2d_req *req, struct slice name, struct slice value);

/*
 * Makes one field of all cookies, in the place of the first. 0, or -1 when memory is out: they are
 * as they were.
 */
int req_field_join_cookies(struct h2d_req *req);

#endif
