/*
 * acceptor_balance: the two ways to choose a worker. server/acceptor.c calls it; what a choice
 * may be made of (credits, connections) is server/acceptor_inbox.c's.
 */
#include "server/acceptor_inbox.h"

#include <stdint.h>
#include <string.h>

enum { AHEAD = 8 };

static int pick_least(
	const struct acceptor_balance *b, const struct acceptor_choice *choices, unsigned n)
{
	int best = -1;

	for (unsigned i = 0; i < n; i++) {
		unsigned at = (b->next + i) % n;

		if (choices[at].open && (best < 0 || choices[at].load < choices[best].load))
			best = (int)at;
	}
	return best;
}

/* The source of a connection: an IPv4 address or an IPv6 network. False: peer has none. */
static bool source_of(const struct addr *peer, uint64_t *source)
{
	*source = 0;
	switch (peer->sa.sa_family) {
	case AF_INET:
		memcpy(source, &peer->in.sin_addr, sizeof(peer->in.sin_addr));
		return true;
	case AF_INET6:
		memcpy(source, &peer->in6.sin6_addr, sizeof(*source));
		return true;
	default:
		return false;
	}
}

/* Each bit of the result depends on each bit of n. */
static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 33) * UINT64_C(0x9e3779b97f4a7c15);
	n = (n ^ n >> 29) * UINT64_C(0xd6e8feb86659fd93);
	return n ^ n >> 32;
}

/* Rendezvous: of the open slots, the one with the highest score for this source. */
static int pick_by_source(uint64_t source, const struct acceptor_choice *choices, unsigned n)
{
	uint64_t key = mix(source), score, highest = 0;
	int best = -1;

	for (unsigned i = 0; i < n; i++) {
		score = mix(key + i);
		if (choices[i].open && (best < 0 || score > highest)) {
			best = (int)i;
			highest = score;
		}
	}
	return best;
}

void acceptor_balance_hold(
	const struct acceptor_balance *b, struct acceptor_choice *choices, unsigned n)
{
	unsigned least = UINT32_MAX - AHEAD;

	if (b->by_source)
		return;
	for (unsigned i = 0; i < n; i++)
		if (choices[i].behind && choices[i].load < least)
			least = choices[i].load;
	for (unsigned i = 0; i < n; i++)
		choices[i].open &= choices[i].load <= least + AHEAD;
}

int acceptor_balance_pick(struct acceptor_balance *b, const struct acceptor_choice *choices,
	unsigned n, const struct addr *peer)
{
	uint64_t source;
	int at;

	if (b->by_source && source_of(peer, &source))
		return pick_by_source(source, choices, n);
	at = pick_least(b, choices, n);
	if (at >= 0)
		b->next = ((unsigned)at + 1) % n;
	return at;
}
