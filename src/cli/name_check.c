/*
 * name_check: the names of applications, for -t alone: a worker looks them up itself, and the
 * master never waits for a name server.
 */
#include "cli/name_check.h"

#include <netdb.h>
#include <stdio.h>

void name_check(const struct sites *sites, conf_fault_fn *warn, void *ctx)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

	for (const struct site_peer *p = sites->peers; p != sites->peers + sites->npeers; p++) {
		size_t n = (size_t)(strrchr(p->name.p, ':') - p->name.p);
		char host[NI_MAXHOST], text[CONF_FAULT_TEXT];
		struct addrinfo *found;
		int rc;

		if (p->addr.len > 0)
			continue;
		snprintf(host, sizeof(host), "%.*s", (int)n, p->name.p);
		rc = getaddrinfo(host, NULL, &hints, &found);
		if (rc == 0) {
			freeaddrinfo(found);
			continue;
		}
		snprintf(text, sizeof(text), "proxy \"%s\": no address: %s", p->name.p,
			gai_strerror(rc));
		warn(ctx, &p->at, text);
	}
}
