/*
 * addr: socket addresses as text and back. Pure: no resolver, no socket, no allocation. Used by the
 * configuration check, the listeners and whoever names a peer in a log.
 */
#include "net/addr.h"

#include <arpa/inet.h>
#include <stdio.h>

/* Digits only, no sign and no leading zero: "0080" is more likely a slip than a port. */
static const char *parse_port(const char *text, in_port_t *port)
{
	unsigned long n = 0;
	size_t len = strlen(text);

	if (len == 0)
		return "the port is missing";
	if (len > 5 || strspn(text, "0123456789") != len || (text[0] == '0' && len > 1))
		return "the port is not a number from 0 to 65535";
	for (; *text != '\0'; text++)
		n = n * 10 + (unsigned long)(*text - '0');
	if (n > 65535)
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
		return "the path of a unix socket has at most 107 bytes";
	addr->un.sun_family = AF_UNIX;
	memcpy(addr->un.sun_path, path, len + 1);
	addr->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return NULL;
}

/* text[0..n) as the host of a numeric address; false if it cannot be one. */
static bool parse_host(int family, const char *text, size_t n, void *dst)
{
	char host[INET6_ADDRSTRLEN];

	if (n >= sizeof(host))
		return false;
	memcpy(host, text, n);
	host[n] = '\0';
	return inet_pton(family, host, dst) == 1;
}

static const char *parse_ipv6(const char *text, struct addr *addr)
{
	const char *end = strchr(text, ']');

	if (end == NULL)
		return "the bracket of the IPv6 address is not closed";
	if (!parse_host(AF_INET6, text + 1, (size_t)(end - text - 1), &addr->in6.sin6_addr))
		return "no IPv6 address between the brackets";
	if (end[1] != ':')
		return "the port is missing";
	addr->in6.sin6_family = AF_INET6;
	addr->len = sizeof(addr->in6);
	return parse_port(end + 2, &addr->in6.sin6_port);
}

static const char *parse_ipv4(const char *text, struct addr *addr)
{
	const char *colon = strchr(text, ':');

	if (colon != NULL && strchr(colon + 1, ':') != NULL)
		return "an IPv6 address is written in brackets: [::1]:443";
	if (text[0] == '*')
		return "write 0.0.0.0:PORT for all IPv4 and [::]:PORT for all IPv6 addresses";
	if (colon == NULL)
		return "the port is missing: ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH";
	if (!parse_host(AF_INET, text, (size_t)(colon - text), &addr->in.sin_addr))
		return "not a numeric address (names are not looked up)";
	addr->in.sin_family = AF_INET;
	addr->len = sizeof(addr->in);
	return parse_port(colon + 1, &addr->in.sin_port);
}

const char *addr_parse(const char *text, struct addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (text[0] == '\0')
		return "the address is empty";
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(text + 5, addr);
	return text[0] == '[' ? parse_ipv6(text, addr) : parse_ipv4(text, addr);
}

/*
 * sun_path need not end in NUL, is empty for a peer that never bound, and starts with NUL if
 * abstract.
 */
static struct slice unix_path(const struct addr *addr)
{
	size_t head = offsetof(struct sockaddr_un, sun_path);
	size_t n = addr->len > head ? addr->len - head : 0;

	if (n > sizeof(addr->un.sun_path))
		n = sizeof(addr->un.sun_path);
	return slice_of(addr->un.sun_path, n > 0 ? strnlen(addr->un.sun_path, n) : 0);
}

void addr_format_host(const struct addr *addr, char *buf, size_t size)
{
	const char *text = "unknown";
	char host[INET6_ADDRSTRLEN];

	if (addr->len >= sizeof(addr->in) && addr->sa.sa_family == AF_INET)
		text = inet_ntop(AF_INET, &addr->in.sin_addr, host, sizeof(host));
	else if (addr->len >= sizeof(addr->in6) && addr->sa.sa_family == AF_INET6)
		text = inet_ntop(AF_INET6, &addr->in6.sin6_addr, host, sizeof(host));
	else if (addr->len >= sizeof(sa_family_t) && addr->sa.sa_family == AF_UNIX)
		text = "unix";
	snprintf(buf, size, "%s", text);
}

void addr_format(const struct addr *addr, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN];

	addr_format_host(addr, host, sizeof(host));
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
