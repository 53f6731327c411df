/*
 * urls: addresses as http(7) writes them; a wildcard is looked up in the interfaces. Only the
 * master calls it, once per listener of its first generation.
 */
#include "master/urls.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>

struct urls {
	struct strbuf *out;
	const char *scheme;
	unsigned port, usual; /* the usual one is not written */
};

static void add(const struct urls *u, const char *host, bool v6)
{
	char url[128];
	int n = snprintf(
		url, sizeof(url), " %s://%s%s%s", u->scheme, v6 ? "[" : "", host, v6 ? "]" : "");

	if (u->port != u->usual)
		n += snprintf(url + n, sizeof(url) - (size_t)n, ":%u", u->port);
	n += snprintf(url + n, sizeof(url) - (size_t)n, "/");
	/* "localhost" is there already when both wildcards are listened on. */
	if (u->out->n < (size_t)n || memmem(u->out->p, u->out->n, url, (size_t)n) == NULL)
		strbuf_add(u->out, slice_of(url, (size_t)n));
}

static bool is_wildcard(const struct addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

/* Loopback is localhost already, and a link-local address needs its interface in the URL. */
static bool is_reachable(const struct ifaddrs *i, int family)
{
	if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family)
		return false;
	if ((i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0)
		return false;
	return family != AF_INET6 ||
	       !IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr);
}

static void add_interfaces(const struct urls *u, int family)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		struct addr addr = { 0 };

		if (!is_reachable(i, family))
			continue;
		addr.len = family == AF_INET ? sizeof(addr.in) : sizeof(addr.in6);
		memcpy(&addr.storage, i->ifa_addr, addr.len);
		add(u, ADDR_HOST(&addr), family == AF_INET6);
	}
	freeifaddrs(all);
}

void urls_add(struct strbuf *out, const struct addr *addr, bool tls)
{
	const struct urls u = { .out = out,
		.scheme = tls ? "https" : "http",
		.port = addr_port(addr),
		.usual = tls ? 443 : 80 };

	if (addr->sa.sa_family != AF_INET && addr->sa.sa_family != AF_INET6)
		return;
	if (!is_wildcard(addr)) {
		add(&u, ADDR_HOST(addr), addr->sa.sa_family == AF_INET6);
		return;
	}
	add(&u, "localhost", false);
	add_interfaces(&u, addr->sa.sa_family);
}
