/*
 * handler_text: a string as a handler gets it, which ends in NUL. With AddressSanitizer it is
 * memory of its own, of just that size, so that who reads behind its end is seen. Called by the
 * calls of h2d/handler.h that hand strings out.
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

/* s ends in NUL; p NULL: there is none. len may be NULL. */
static inline const char *handler_text(const struct h2d_req *req, struct slice s, size_t *len)
{
	if (len != NULL)
		*len = s.n;
	return s.p != NULL ? handler_text_own(req, s) : NULL;
}

#endif
