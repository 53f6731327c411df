/*
 * slash: an encoded slash in a request target ("/@scope%2fname", as clients of package registries
 * ask). It parts segments as any slash does where nobody could take that for a way around a rule.
 * Asked by the request core. Pure.
 */
#ifndef H2D_REQUEST_SLASH_H
#define H2D_REQUEST_SLASH_H

#include "request/req.h"

/* Whether req, of whose target path_parse() says ERR_PATH_SLASH, may go on with its path. */
bool slash_is_harmless(struct h2d_req *req);

#endif
