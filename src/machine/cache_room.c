/*
 * cache_room: called by spawn for each keeper, by supervise when a process was killed, and by main
 * and reload for the warning. It ends no process.
 */
#include "machine/cache_room.h"

#include <stdio.h>
#include <unistd.h>

#include "base/human.h"
#include "base/log.h"
#include "machine/cgroup.h"

enum {
	SHARE = 4,          /* one part of so many of the memory */
	ROOM_MIN = 1 << 20, /* halved no further */
};

/* The smaller of the machine's memory and the control group's limit; 0: unknown. */
static uint64_t memory_there(void)
{
	uint64_t limit = cgroup_limits().memory;
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;

	return limit != 0 && (all == 0 || limit < all) ? limit : all;
}

uint64_t cache_room_of(uint64_t max_size, uint64_t memory, unsigned halved)
{
	uint64_t room = memory != 0 && memory / SHARE < max_size ? memory / SHARE : max_size;

	while (halved-- > 0 && room >= 2 * (uint64_t)ROOM_MIN)
		room /= 2;
	return room > 0 || max_size == 0 ? room : 1;
}

void cache_room_init(struct cache_room *r)
{
	*r = (struct cache_room){ .kills = cgroup_kills() };
}

uint64_t cache_room_size(const struct cache_room *r, const struct conf *conf)
{
	uint64_t asked = conf->cache.max_size, memory = memory_there();
	bool known = r->asked == asked && r->memory == memory;

	return cache_room_of(asked, memory, known ? r->halved : 0);
}

bool cache_room_tells(struct cache_room *r, uint64_t kills)
{
	bool more = kills != r->kills;

	r->kills = kills;
	return kills == CGROUP_UNTOLD ? ++r->untold % 2 == 0 : more;
}

bool cache_room_struck(struct cache_room *r, const struct conf *conf)
{
	uint64_t memory = memory_there(), before;

	if (conf->cache.max_size == 0 || !cache_room_tells(r, cgroup_kills()))
		return false;
	before = cache_room_size(r, conf);
	if (r->asked != conf->cache.max_size || r->memory != memory)
		r->halved = 0;
	r->asked = conf->cache.max_size;
	r->memory = memory;
	if (cache_room_of(r->asked, memory, r->halved + 1) == before)
		return false;
	r->halved++;
	return true;
}

/* True if the memory has no room for max-size; with a text. */
static bool is_less(const struct conf *conf, char text[256])
{
	uint64_t memory = memory_there(), room = cache_room_of(conf->cache.max_size, memory, 0);
	char all[HUMAN_SIZE], some[HUMAN_SIZE];

	snprintf(text, 256,
		"max-size: the cache is limited to %s, a quarter of the memory here (%s)",
		human_bytes(some, room), human_bytes(all, memory));
	return room != conf->cache.max_size;
}

void cache_room_check(const struct conf *conf, conf_fault_fn *warn, void *ctx)
{
	char text[256];

	if (conf->cache.max_size_at.file != NULL && is_less(conf, text))
		warn(ctx, &conf->cache.max_size_at, text);
}

void cache_room_log(const struct conf *conf)
{
	char text[256];

	if (conf->cache.max_size_at.file == NULL && is_less(conf, text))
		log_notice("%s", text);
}
