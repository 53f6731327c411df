/*
 * req_cookie: the fields named cookie of a request. HTTP/2 lets a client send each cookie in one of
 * its own (RFC 9113, 8.2.3), and browsers do: they count as one field, and become one where
 * somebody asks for it. Called for each field that comes, and for handlers.
 */
#ifndef H2D_REQUEST_REQ_COOKIE_H
#define H2D_REQUEST_REQ_COOKIE_H

#include "request/req.h"

static inline bool req_cookie_is(struct slice name)
{
	return name.n == 6 && slice_eq(name, SLICE("cookie"));
}

/*
 * Whether the bytes of value are those of a cookie that is there: it says nothing new, and one byte
 * on the wire may stand for it (RFC 7541, 6.1), again and again.
 */
bool req_cookie_repeated(const struct h2d_req *req, struct slice value);

/*
 * Makes one field of all, in the place of the first. 0, or -1 when memory is out: they are as they
 * were.
 */
int req_cookie_join(struct h2d_req *req);

#endif
