/*
 * explain_url: a URL as somebody types it, taken apart as a client does before it asks (RFC 9110,
 * 4.2). Called by explain.c. Pure. What the server thinks of the parts is the request core's to
 * say.
 */
#ifndef H2D_CLI_EXPLAIN_URL_H
#define H2D_CLI_EXPLAIN_URL_H

#include "base/arena.h"
#include "base/slice.h"

struct explain_url {
	bool has_scheme;        /* false: a path alone was given */
	bool tls;               /* "https" */
	struct slice authority; /* as it goes into :authority; n 0 without a scheme */
	struct slice host;      /* of authority, without its port and brackets */
	uint16_t port;          /* 0: that of the scheme */
	struct slice user;      /* "user:password", percent-decoded; p NULL: there is none */
	struct slice target;    /* begins with "/", without a fragment */
};

/* "http://USER:PASSWORD@HOST:PORT/PATH?QUERY", or "/PATH". What it needs of memory is a's. NULL, or
 * what is wrong, a const string. */
const char *explain_url_parse(struct explain_url *url, const char *text, struct arena *a);

#endif
