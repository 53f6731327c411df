/*
 * auth_peer: finds the place of a peer and counts wrong guesses. Called by auth_queue.c for checks
 * that no verdict is remembered of; never allocates. The place of the peer whose last wrong guess
 * is longest ago goes to the next one.
 */
#include "request/auth_peer.h"

#include <string.h>

static void identify(const struct addr *addr, uint8_t id[9])
{
	memset(id, 0, 9);
	id[0] = (uint8_t)(addr->sa.sa_family + 1);
	if (addr->sa.sa_family == AF_INET)
		memcpy(id + 1, &addr->in.sin_addr, 4);
	else if (addr->sa.sa_family == AF_INET6)
		memcpy(id + 1, &addr->in6.sin6_addr, 8);
}

struct auth_peer *auth_peers_find(struct auth_peers *t, const struct addr *addr)
{
	struct auth_peer *place = NULL;
	uint8_t id[9];

	identify(addr, id);
	for (struct auth_peer *p = t->v; p != t->v + AUTH_PEERS; p++) {
		if (memcmp(p->id, id, sizeof(id)) == 0)
			return p;
		if (p->nline + p->nrunning == 0 &&
			(place == NULL || p->failed_ms < place->failed_ms))
			place = p;
	}
	if (place != NULL) {
		*place = (struct auth_peer){ 0 };
		memcpy(place->id, id, sizeof(id));
	}
	return place;
}

void auth_peer_failed(struct auth_peer *p, uint64_t now_ms)
{
	uint64_t delay = AUTH_FIRST_DELAY;

	if (now_ms - p->failed_ms >= AUTH_FORGIVEN_MS)
		p->failures = 0;
	for (unsigned i = 0; i < p->failures && delay < AUTH_DELAY_MAX; i++)
		delay *= 2;
	p->failures++;
	p->failed_ms = now_ms;
	p->ready_ms = now_ms + (delay < AUTH_DELAY_MAX ? delay : AUTH_DELAY_MAX);
}
