/*
 * places_look: uploads that end so that others get their places: the slowest of the clients that
 * have most. Called once a second; whose turn it is then is decided in places.c.
 */
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "files/places.h"

enum {
	ENDS_LEAST = 32, /* uploads that may end in a second, at least */
	ENDS_PART = 32,  /* and one more for so many places */
};

/* Connections of the client that wait to upload, up to max. */
static unsigned wait_to_upload(const struct account_part *client, unsigned max)
{
	unsigned n = 0;

	LIST_FOREACH(node, &client->line) {
		const struct place_share *s = LIST_ENTRY(node, struct place_share, node);

		if (n == max)
			break;
		n += LIST_ENTRY(s->line.next, struct place, node)->upload;
	}
	return n;
}

static uint64_t rate(struct place *p)
{
	uint64_t ms = clock_ms() - p->since_ms, came;

	if (ms < PLACES_UPLOAD_MS)
		return PLACES_BUSY;
	came = p->came(p);
	return came != PLACES_BUSY ? came * 1000 / ms : PLACES_BUSY;
}

/* The slowest upload of the accounts that hold most; NULL: none of theirs may end now. */
static struct place *slowest(struct places *all)
{
	const struct account *most = budget_most(&all->uploads);
	struct place *found = NULL;
	uint64_t least = PLACES_BUSY;

	LIST_FOREACH(node, &all->uploads.holders) {
		const struct account_part *part = LIST_ENTRY(node, struct account_part, node);

		if (part->held < most->parts[ACCOUNT_UPLOADS].held)
			continue;
		LIST_FOREACH(upload, &part->lent) {
			struct place *p = LIST_ENTRY(upload, struct place, mine);
			uint64_t r = rate(p);

			if (r < least) {
				least = r;
				found = p;
			}
		}
	}
	return found;
}

static void end_slowest(struct places *all)
{
	struct place *p = slowest(all);

	if (p == NULL)
		return;
	COUNT(limit_files, 1);
	log_peer(LEVEL_INFO, "client %s: an upload of %llu bytes in %llu s ends, as others wait",
		ADDR_HOST(&p->account->client), (unsigned long long)p->came(p),
		(unsigned long long)(clock_ms() - p->since_ms) / 1000);
	p->back(p);
}

void places_look(struct places *all)
{
	unsigned max = ENDS_LEAST + all->max / ENDS_PART, n = 0;

	LIST_FOREACH(node, &all->poor)
		n += wait_to_upload(LIST_ENTRY(node, struct account_part, turn), max - n);
	LIST_FOREACH(node, &all->clients)
		n += wait_to_upload(LIST_ENTRY(node, struct account_part, turn), max - n);
	for (; n > 0; n--)
		end_slowest(all);
	places_wake(all);
}
