/*
 * conf_addr: the syntax of a listen address, so that -t can judge it without a socket. The layer
 * that binds parses the text again, into a sockaddr. Pure.
 */
#ifndef H2D_CONF_CONF_ADDR_H
#define H2D_CONF_CONF_ADDR_H

#include <stdbool.h>

enum conf_addr_kind { CONF_ADDR_V4, CONF_ADDR_V6, CONF_ADDR_UNIX };

struct conf_addr {
	enum conf_addr_kind kind;
	unsigned char ip[16]; /* of V4 the first four */
	unsigned port;
	const char *path; /* of UNIX, borrowed from the text */
};

/* "192.0.2.1:443", "[::1]:443", "unix:/path". NULL, or what is wrong. */
const char *conf_addr_parse(const char *text, struct conf_addr *addr);

bool conf_addr_equal(const struct conf_addr *a, const struct conf_addr *b);

#endif
