/*
 * proxy: the header with the client's address that a proxy sends before a connection: the PROXY
 * protocol, versions 1 (a line of text) and 2 (binary). Pure: it consumes no bytes.
 */
#pragma once

#include "base/addr.h"

enum {
	PROXY_LINE_MAX = 107, /* of version 1, with CR LF */
	PROXY_HEAD = 16,      /* of version 2: bytes before the addresses */
	PROXY_REST_MAX = 4096,
	PROXY_MAX = PROXY_HEAD + PROXY_REST_MAX,
};

enum proxy_result {
	PROXY_MORE, /* so far it may be one */
	PROXY_WHOLE,
	PROXY_BAD, /* invalid; the data behind it cannot be found */
};

enum proxy_source {
	PROXY_LOCAL,   /* LOCAL: the proxy's own connection, to check h2d */
	PROXY_UNKNOWN, /* UNKNOWN or AF_UNSPEC: a client's, without an address */
	PROXY_CLIENT,
};

struct proxy {
	size_t length; /* of the header: the connection's own bytes follow */
	enum proxy_source source;
	struct addr client; /* of PROXY_CLIENT: AF_INET or AF_INET6 */
	bool tls;           /* the client used TLS, which the proxy terminated */
};

/* Parses the header that bytes begin with, whatever follows it. *p is valid with PROXY_WHOLE
 * only. */
enum proxy_result proxy_parse(struct slice bytes, struct proxy *p);
