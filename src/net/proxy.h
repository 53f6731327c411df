/*
 * proxy: the header that a proxy sends in front of a connection to say whose it is: the PROXY
 * protocol, versions 1 (a line of text) and 2 (binary), as HAProxy's proxy-protocol.txt has them.
 * Pure: it is given the bytes that have come, from the beginning, and takes none of them.
 */
#ifndef H2D_NET_PROXY_H
#define H2D_NET_PROXY_H

#include "base/addr.h"

enum {
	PROXY_LINE_MAX = 107, /* of version 1, with CR LF */
	PROXY_HEAD = 16,      /* of version 2: what is in front of the addresses */
	PROXY_REST_MAX = 4096,
	PROXY_MAX = PROXY_HEAD + PROXY_REST_MAX,
};

enum proxy_result {
	PROXY_MORE, /* so far it may be one */
	PROXY_WHOLE,
	PROXY_BAD, /* it is none; what follows cannot be found */
};

enum proxy_source {
	PROXY_LOCAL,   /* LOCAL: the connection is the proxy's own, to see whether h2d is there */
	PROXY_UNKNOWN, /* UNKNOWN or AF_UNSPEC: it is a client's, and no address says whose */
	PROXY_CLIENT,
};

struct proxy {
	size_t length; /* of the header: what follows is the connection's */
	enum proxy_source source;
	struct addr client; /* of PROXY_CLIENT: AF_INET or AF_INET6 */
	bool tls;           /* the client came to the proxy by TLS, and the proxy has ended it */
};

/* Parses the header that bytes begin with: the answer is the same whatever follows it. *p is good
 * with PROXY_WHOLE only. */
enum proxy_result proxy_parse(struct slice bytes, struct proxy *p);

#endif
