/* h2_path: see h2_path.h. */
#include "proto/h2_path.h"

enum {
	LONG_MS = 2,           /* of a round trip: in less, 1 MiB is as much as 4 Gbit/s take */
	PROBE_MS = 10,         /* between two PINGs, at least */
	PROBES_PER_WINDOW = 8, /* at most */
	ENOUGH_PART = 2,       /* of a window, to tell a rate */
};

bool h2_path_may_ask(const struct h2_path *p, uint64_t came, uint32_t size, uint64_t now_ms)
{
	if (p->asked)
		return false;
	if (p->trips == 0)
		return true;
	return p->rtt_ms >= LONG_MS && now_ms - p->asked_ms >= PROBE_MS &&
	       came - p->asked_came >= size / PROBES_PER_WINDOW;
}

void h2_path_asked(struct h2_path *p, uint64_t came, uint64_t now_ms)
{
	p->asked = true;
	p->asked_ms = now_ms;
	p->asked_came = came;
}

/* The least of the times is the path's own: later ones are as long as what the client has in line
 * in front of the answer. */
void h2_path_answered(struct h2_path *p, uint64_t now_ms)
{
	uint64_t ms = now_ms - p->asked_ms;

	if (!p->asked)
		return;
	p->asked = false;
	if (p->trips++ == 0 || ms < p->rtt_ms)
		p->rtt_ms = ms;
}

/* A stretch begins in front of these bytes where the last one is longer than a round trip, or where
 * a silence ends, which is no part of what the path takes. */
void h2_path_came(struct h2_path *p, size_t n, uint64_t came, size_t held, uint64_t now_ms)
{
	bool silent = held == n && now_ms - p->came_ms >= LONG_MS;

	p->came_ms = now_ms;
	if (!silent && (p->trips == 0 || now_ms - p->since_ms <= p->rtt_ms))
		return;
	p->since_ms = now_ms;
	p->since_taken = came - held;
}

/* Bytes that were taken in the stretch came and went as fast as the path and the disk could. A
 * client that is held up by the disk has no use for more. */
uint64_t h2_path_load(
	const struct h2_path *p, uint64_t came, size_t held, uint32_t size, uint64_t now_ms)
{
	uint64_t ms = now_ms - p->since_ms, taken = came - held - p->since_taken;

	if (p->trips == 0 || p->rtt_ms < LONG_MS || taken < size / ENOUGH_PART || taken < held)
		return 0;
	return taken * p->rtt_ms / (ms > 0 ? ms : 1);
}
