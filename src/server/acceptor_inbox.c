/*
 * acceptor_inbox: a sent connection belongs to the inbox: the acceptor closes its own descriptor,
 * whatever happens to the worker.
 */
#include "server/acceptor.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"

enum {
	TRIES = 8,
	BEHIND_MS = 100,    /* a worker that has taken none for longer is not awaited */
	LIVE_MAX = 1 << 20, /* of a worker-connections */
};

static uint64_t load_of(const struct acceptor_inbox *in)
{
	return BOARD_LOAD(in->behind.slot->load);
}

/* Counts the waiting connections, by the kernel's count. */
static unsigned acceptor_inbox_count(struct acceptor_inbox *in)
{
	return in->bound = fdpass_waiting(in->ends[0]) + in->nhand;
}

/*
 * Restarts the count. A worker with a received and unreported connection makes sent too small; then
 * taken exceeds it, and acceptor_inbox_choice() notices.
 */
static void begin_anew(struct acceptor_inbox *in)
{
	uint64_t before, after = load_of(in);

	for (int i = 0; i < TRIES; i++) {
		before = after;
		in->sent = BOARD_LOAD_TAKEN(before) + acceptor_inbox_count(in);
		after = load_of(in);
		if (before == after)
			return;
	}
}

void acceptor_inbox_behind(struct acceptor_inbox *in, struct board_worker behind)
{
	if (in->behind.slot == behind.slot && in->behind.serial == behind.serial)
		return;
	in->behind = behind;
	if (behind.slot != NULL)
		begin_anew(in);
}

static bool reads(const struct acceptor_inbox *in, bool draining)
{
	uint32_t state;

	if (in->behind.slot == NULL)
		return false;
	state = BOARD_LOAD(in->behind.slot->state);
	if (state == BOARD_UP)
		return BOARD_LOAD(in->behind.slot->full) == 0;
	return draining && state == BOARD_DRAIN;
}

struct acceptor_choice acceptor_inbox_choice(struct acceptor_inbox *in, bool draining)
{
	struct acceptor_choice c = { .open = false };
	uint64_t load;
	uint32_t waiting, live;

	if (!reads(in, draining))
		return c;
	/* Reads both counts at once, or a connection might be counted twice or not at all. */
	load = load_of(in);
	waiting = in->sent - BOARD_LOAD_TAKEN(load);
	live = BOARD_LOAD_LIVE(load);
	if (waiting > UINT32_MAX / 2) { /* it took unsent ones */
		begin_anew(in);
		waiting = in->bound;
	}
	if (waiting >= ACCEPTOR_CREDITS || in->bound >= ACCEPTOR_CREDITS)
		acceptor_inbox_count(in);
	c.open = in->bound < ACCEPTOR_CREDITS;
	if (c.open)
		in->open_ms = clock_ms();
	c.behind = !c.open && clock_ms() - in->open_ms < BEHIND_MS;
	c.load = (waiting < ACCEPTOR_CREDITS ? waiting : ACCEPTOR_CREDITS) +
		 (live < LIVE_MAX ? live : LIVE_MAX);
	return c;
}

/* Connections taken by a neighbour are not counted by their own worker. */
void acceptor_inbox_look(struct acceptor_inbox *in)
{
	if (in->behind.slot != NULL)
		begin_anew(in);
}

void acceptor_inbox_put(struct acceptor_inbox *in, const struct fdpass *conn)
{
	H2D_ASSERT(in->nhand < FDPASS_MAX);
	in->hand[in->nhand++] = *conn;
	in->sent++;
	in->bound++;
}

int acceptor_inbox_flush(struct acceptor_inbox *in)
{
	while (in->nhand > 0) {
		int n = fdpass_send(in->ends[1], in->hand, in->nhand);

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++)
			close(in->hand[i].fd);
		in->nhand -= (unsigned)n;
		memmove(in->hand, in->hand + n, in->nhand * sizeof(in->hand[0]));
	}
	return 0;
}

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

/* The source of a connection: an IPv4 address or an IPv6 network. False: none. */
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
