/* addr: the one parser and writer of addresses' text. It has no resolver and allocates nothing. */
#include "base/addr.h"

#include <arpa/inet.h>
#include <stdio.h>

int addr_number(struct slice text, unsigned max)
{
	unsigned v = 0;

	if (text.n == 0 || (text.p[0] == '0' && text.n > 1))
		return -1;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -1;
		v = 10 * v + (unsigned)(text.p[i] - '0');
		if (v > max)
			return -1;
	}
	return (int)v;
}

static const char *parse_port(const char *text, in_port_t *port)
{
	int n = addr_number(slice_str(text), UINT16_MAX);

	if (text[0] == '\0')
		return "the port is missing";
	if (n < 0)
		return "the port is not a number from 0 to 65535";
	*port = htons((uint16_t)n);
	return NULL;
}

static const char *parse_unix(const char *path, struct addr *addr)
{
	size_t len = strlen(path);

	if (path[0] != '/')
		return "the path of a unix socket must be absolute";
	if (len >= sizeof(addr->un.sun_path))
		return "the path of a unix socket exceeds 107 bytes";
	if (path[len - 1] == '/')
		return "the path of a unix socket is a directory";
	addr->un.sun_family = AF_UNIX;
	memcpy(addr->un.sun_path, path, len + 1);
	addr->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return NULL;
}

bool addr_parse_host(int family, struct slice text, struct addr *addr)
{
	char host[INET6_ADDRSTRLEN];

	memset(addr, 0, sizeof(*addr));
	if (text.n >= sizeof(host))
		return false;
	memcpy(host, text.p, text.n);
	host[text.n] = '\0';
	/* inet_pton() would stop at a NUL. */
	if (strlen(host) != text.n)
		return false;
	addr->sa.sa_family = (sa_family_t)family;
	addr->len = family == AF_INET ? sizeof(addr->in) : sizeof(addr->in6);
	return inet_pton(family, host,
		       family == AF_INET ? (void *)&addr->in.sin_addr
					 : (void *)&addr->in6.sin6_addr) == 1;
}

static const char *parse_ipv6(const char *text, struct addr *addr)
{
	const char *end = strchr(text, ']');

	if (end == NULL)
		return "the bracket is not closed: write [ADDRESS]:PORT";
	if (!addr_parse_host(AF_INET6, slice_of(text + 1, (size_t)(end - text - 1)), addr))
		return "no IPv6 address between the brackets";
	if (end[1] != ':')
		return "the port is missing: write [ADDRESS]:PORT";
	return parse_port(end + 2, &addr->in6.sin6_port);
}

static const char *parse_ipv4(const char *text, struct addr *addr)
{
	const char *colon = strchr(text, ':');

	if (colon != NULL && strchr(colon + 1, ':') != NULL)
		return "write an IPv6 address as [ADDRESS]:PORT";
	if (text[0] == '*' || text[0] == ':')
		return "write 0.0.0.0:PORT for all IPv4 and [::]:PORT for all IPv6 addresses";
	if (colon == NULL)
		return "the port is missing: ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH";
	if (!addr_parse_host(AF_INET, slice_of(text, (size_t)(colon - text)), addr))
		return "not a numeric IPv4 address before the port (names are not looked up)";
	return parse_port(colon + 1, &addr->in.sin_port);
}

const char *addr_parse(const char *text, struct addr *addr)
{
	const char *why;

	memset(addr, 0, sizeof(*addr));
	if (text[0] == '\0')
		why = "the address is empty: ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH";
	else if (strncmp(text, "unix:", 5) == 0)
		why = parse_unix(text + 5, addr);
	else
		why = text[0] == '[' ? parse_ipv6(text, addr) : parse_ipv4(text, addr);
	if (why != NULL)
		addr->sa.sa_family = AF_UNSPEC;
	return why;
}

/* sun_path need not end in NUL, is empty for an unbound peer, and starts with NUL if abstract. */
static struct slice unix_path(const struct addr *addr)
{
	size_t head = offsetof(struct sockaddr_un, sun_path);
	size_t n = addr->len > head ? addr->len - head : 0;

	if (n > sizeof(addr->un.sun_path))
		n = sizeof(addr->un.sun_path);
	return slice_of(addr->un.sun_path, n > 0 ? strnlen(addr->un.sun_path, n) : 0);
}

const char *addr_format_host(const struct addr *addr, char buf[ADDR_HOST_TEXT])
{
	if (addr->len >= sizeof(addr->in) && addr->sa.sa_family == AF_INET)
		return inet_ntop(AF_INET, &addr->in.sin_addr, buf, ADDR_HOST_TEXT);
	if (addr->len >= sizeof(addr->in6) && addr->sa.sa_family == AF_INET6)
		return inet_ntop(AF_INET6, &addr->in6.sin6_addr, buf, ADDR_HOST_TEXT);
	return strcpy(buf, addr->len >= sizeof(sa_family_t) && addr->sa.sa_family == AF_UNIX
				   ? "unix"
				   : "unknown");
}

void addr_format(const struct addr *addr, char *buf, size_t size)
{
	const char *host = ADDR_HOST(addr);

	if (addr->len >= sizeof(addr->in) && addr->sa.sa_family == AF_INET)
		snprintf(buf, size, "%s:%u", host, ntohs(addr->in.sin_port));
	else if (addr->len >= sizeof(addr->in6) && addr->sa.sa_family == AF_INET6)
		snprintf(buf, size, "[%s]:%u", host, ntohs(addr->in6.sin6_port));
	else if (addr->len >= sizeof(sa_family_t) && addr->sa.sa_family == AF_UNIX)
		snprintf(buf, size, "unix:%.*s", SLICE_ARG(unix_path(addr)));
	else
		snprintf(buf, size, "%s", host);
}

uint16_t addr_port(const struct addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return ntohs(addr->in.sin_port);
	case AF_INET6:
		return ntohs(addr->in6.sin6_port);
	default:
		return 0;
	}
}

void addr_unmap(struct addr *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = a->in6.sin6_port };

	if (a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		return;
	memcpy(&in.sin_addr, &a->in6.sin6_addr.s6_addr[12], sizeof(in.sin_addr));
	a->in = in;
	a->len = sizeof(in);
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	switch (a->sa.sa_family) {
	case AF_INET:
		return a->in.sin_port == b->in.sin_port &&
		       a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	case AF_INET6:
		return a->in6.sin6_port == b->in6.sin6_port &&
		       a->in6.sin6_scope_id == b->in6.sin6_scope_id &&
		       memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) == 0;
	case AF_UNIX:
		return slice_eq(unix_path(a), unix_path(b));
	default:
		return false;
	}
}

/* --- ranges ----------------------------------------------------------------------------------- */

enum { IPV4_BITS = 32, IPV4_AT = 12 };

static const uint8_t mapped[IPV4_AT] = { [10] = 0xff, [11] = 0xff };

/* The address in 16 bytes; false for a socket that has none. */
static bool as_ipv6(const struct addr *a, uint8_t address[16])
{
	if (a->sa.sa_family == AF_INET6) {
		memcpy(address, &a->in6.sin6_addr, sizeof(a->in6.sin6_addr));
		return true;
	}
	memcpy(address, mapped, IPV4_AT);
	memcpy(address + IPV4_AT, &a->in.sin_addr, sizeof(a->in.sin_addr));
	return a->sa.sa_family == AF_INET;
}

const char *addr_range_parse(const char *text, struct addr_range *r)
{
	const char *slash = strchr(text, '/');
	struct slice host = slice_of(text, slash != NULL ? (size_t)(slash - text) : strlen(text));
	unsigned width = ADDR_RANGE_BITS;
	struct addr a;
	int bits;

	if (!addr_parse_host(AF_INET6, host, &a)) {
		width = IPV4_BITS;
		if (!addr_parse_host(AF_INET, host, &a))
			return ADDR_RANGE_NO_ADDRESS;
	}
	as_ipv6(&a, r->address);
	bits = slash != NULL ? addr_number(slice_str(slash + 1), width) : (int)width;
	if (bits < 0)
		return width == IPV4_BITS ? "the prefix length is not a number from 0 to 32"
					  : "the prefix length is not a number from 0 to 128";
	r->bits = ADDR_RANGE_BITS - width + (unsigned)bits;
	for (unsigned i = r->bits; i < ADDR_RANGE_BITS; i++)
		if (r->address[i / 8] & 0x80u >> i % 8)
			return "the address has bits set after its prefix";
	return NULL;
}

bool addr_range_contains(const struct addr_range *r, const struct addr *a)
{
	unsigned whole = r->bits / 8, rest = r->bits % 8;
	uint8_t address[16];

	if (!as_ipv6(a, address))
		return false;
	if (r->bits < ADDR_RANGE_BITS - IPV4_BITS && memcmp(address, mapped, IPV4_AT) == 0)
		return false;
	return memcmp(r->address, address, whole) == 0 &&
	       (rest == 0 || ((r->address[whole] ^ address[whole]) & 0xff00u >> rest & 0xff) == 0);
}
