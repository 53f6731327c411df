/*
 * conf_addr: numeric addresses only, no resolver. Called by conf_check; knows nothing of sockets.
 */
#include "conf/conf_addr.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "conf/conf_value.h"

static const char *unix_path(const char *path, struct conf_addr *addr)
{
	addr->kind = CONF_ADDR_UNIX;
	addr->path = path;
	if (*path != '/')
		return "the path behind unix: must be absolute";
	if (path[strlen(path) - 1] == '/')
		return "the path behind unix: is a folder";
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return "the path behind unix: is longer than 107 bytes";
	return NULL;
}

const char *conf_addr_parse(const char *text, struct conf_addr *addr)
{
	const char *host = text, *end, *colon = strrchr(text, ':');
	char buf[INET6_ADDRSTRLEN];
	uint64_t port;

	*addr = (struct conf_addr){ .kind = CONF_ADDR_V4 };
	if (strncmp(text, "unix:", 5) == 0)
		return unix_path(text + 5, addr);
	if (*text == '[') {
		addr->kind = CONF_ADDR_V6;
		host++;
		end = strchr(text, ']');
		if (end == NULL || end[1] != ':')
			return "an IPv6 address is written [ADDRESS]:PORT";
		colon = end + 1;
	} else if (colon == NULL) {
		return "it is written ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH";
	} else {
		end = colon;
		if (memchr(text, ':', (size_t)(colon - text)) != NULL)
			return "an IPv6 address is written [ADDRESS]:PORT";
	}
	if ((size_t)(end - host) >= sizeof(buf))
		return "the address is not numeric";
	memcpy(buf, host, (size_t)(end - host));
	buf[end - host] = '\0';
	if (inet_pton(addr->kind == CONF_ADDR_V6 ? AF_INET6 : AF_INET, buf, addr->ip) != 1)
		return addr->kind == CONF_ADDR_V6 ? "not an IPv6 address between the brackets"
						  : "not a numeric IPv4 address before the port; "
						    "0.0.0.0 is every address";
	if (conf_value_number(colon + 1, 65535, &port) != NULL)
		return "the port must be a decimal number from 0 to 65535";
	addr->port = (unsigned)port;
	return NULL;
}

bool conf_addr_equal(const struct conf_addr *a, const struct conf_addr *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == CONF_ADDR_UNIX)
		return strcmp(a->path, b->path) == 0;
	return a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}
