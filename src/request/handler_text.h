/*
 * handler_text: a string for a handler, which ends in NUL. With AddressSanitizer it is a copy of
 * just that size, so that reads beyond its end are reported. Called by the calls of h2d/handler.h
 * that return strings.
 */
#ifndef H2D_REQUEST_HANDLER_TEXT_H
#define H2D_REQUEST_HANDLER_TEXT_H

#include "request/req.h"

#ifdef __SANITIZE_ADDRESS__
/* A copy, the same for the same bytes, until the request is gone. */
const char *handler_text_own(const struct h2d_req *req, struct slice s);
#else
static inline const char *handler_text_own(const struct h2d_req *req, struct slice s)
{
	(void)req;
	return s.p;
}
#endif

/* s ends in NUL; p NULL: none. len may be NULL. */
static inline const char *handler_text(const struct h2d_req *req, struct slice s, size_t *len)
{
	if (len != NULL)
		*len = s.n;
	return s.p != NULL ? handler_text_own(req, s) : NULL;
}

#endif
