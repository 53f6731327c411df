/* addr: socket addresses: "192.0.2.1:443", "[::1]:8443", "*:80" is refused, "unix:/path". Pure. */
#ifndef H2D_NET_ADDR_H
#define H2D_NET_ADDR_H

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/slice.h"

struct addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_storage storage;
	};
	socklen_t len;
};

enum { ADDR_TEXT = 128 };

/* Numeric addresses only. NULL, or a message that says what is wrong. */
const char *addr_parse(const char *text, struct addr *addr);

/* "192.0.2.1:443", "[::1]:443", "unix:/run/x.sock"; at most size bytes with NUL. */
void addr_format(const struct addr *addr, char *buf, size_t size);

/* Without the port: "192.0.2.1", "::1", "unix". For logs. */
void addr_format_host(const struct addr *addr, char *buf, size_t size);

/* 0 of what has none. */
uint16_t addr_port(const struct addr *addr);

bool addr_equal(const struct addr *a, const struct addr *b);

#endif
