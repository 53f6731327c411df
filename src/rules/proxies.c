/*
 * proxies: parses the list of trusted proxies and finds addresses in it. A list is short: it is
 * searched from one end to the other, once per connection and for each address of a chain.
 */
#include "rules/proxies.h"

const char *proxies_add(struct proxies *p, struct addr_range *room, const char *text)
{
	const char *why;

	if (strcmp(text, "unix") == 0) {
		p->any_unix = true;
		return NULL;
	}
	why = addr_range_parse(text, &room[p->n]);
	if (why != NULL && strcmp(why, ADDR_RANGE_NO_ADDRESS) == 0)
		return ADDR_RANGE_NO_ADDRESS ", nor \"unix\"";
	p->ranges = room;
	p->n += why == NULL;
	return why;
}

bool proxies_trust(const struct proxies *p, const struct addr *from)
{
	if (from->sa.sa_family == AF_UNIX)
		return p->any_unix;
	for (unsigned i = 0; i < p->n; i++)
		if (addr_range_contains(&p->ranges[i], from))
			return true;
	return false;
}
