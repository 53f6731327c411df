/*
 * addr: a socket address in the binary form that the kernel takes and gives, and its text:
 * "192.0.2.1:443", "[::1]:8443", "unix:/path"; "*:80" is refused. Pure.
 */
#pragma once

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

enum { ADDR_TEXT = 128, ADDR_HOST_TEXT = 48 };

/* Numeric addresses only. NULL, or the fault, a const string; addr then has no family. */
const char *addr_parse(const char *text, struct addr *addr);

/* A decimal number up to max, without sign and leading zeros: "0080" is more likely a slip than a
 * port. -1: another text. */
int addr_number(struct slice text, unsigned max);

/* A host alone, of AF_INET ("192.0.2.1") or AF_INET6 ("2001:db8::1", no brackets); port 0. */
bool addr_parse_host(int family, struct slice text, struct addr *addr);

/* "192.0.2.1:443", "[::1]:443", "unix:/run/x.sock"; at most size bytes with NUL. */
void addr_format(const struct addr *addr, char *buf, size_t size);

/* Without the port, for logs: "192.0.2.1", "::1", "unix", "unknown". Returns buf. */
const char *addr_format_host(const struct addr *addr, char buf[ADDR_HOST_TEXT]);

/* addr_format_host() as an argument of a log call; the text lives until the end of the block
 * around it. */
#define ADDR_HOST(addr) addr_format_host((addr), (char[ADDR_HOST_TEXT]){ 0 })

/* The port; 0 for an address that has none. */
uint16_t addr_port(const struct addr *addr);

/*
 * An IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) becomes the IPv4 address in it; any other stays.
 * For addresses that a peer wrote.
 */
void addr_unmap(struct addr *a);

bool addr_equal(const struct addr *a, const struct addr *b);

/*
 * addr_range: ranges of IP addresses in CIDR notation, as access rules and lists of trusted
 * proxies name them. Addresses are compared as bits, IPv4 as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2).
 */

enum { ADDR_RANGE_BITS = 128 };

#define ADDR_RANGE_NO_ADDRESS "not an IPv4 or IPv6 address"

struct addr_range {
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	unsigned bits;       /* of ADDR_RANGE_BITS */
};

/* "10.0.0.0/8", "192.0.2.1", "2001:db8::/32". NULL, or the fault, a const string. */
const char *addr_range_parse(const char *text, struct addr_range *r);

/*
 * True if a is in r. An IPv4-mapped address counts as its IPv4 address, which is in no IPv6 range
 * that is wider than all of IPv4 ("::/0" is IPv6 alone). A unix address is in none.
 */
bool addr_range_contains(const struct addr_range *r, const struct addr *a);
