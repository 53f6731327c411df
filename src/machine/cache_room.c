/*
 * cache_room: called by spawn for each keeper, and by main and reload for the warning.
 */
#include "machine/cache_room.h"

#include <stdio.h>
#include <unistd.h>

#include "base/human.h"
#include "base/log.h"
#include "machine/cgroup.h"

enum { SHARE = 4 }; /* one part of so many of the memory */

/* The smaller of the machine's memory and the control group's limit; 0: unknown. */
static uint64_t memory_there(void)
{
	uint64_t limit = cgroup_limits().memory;
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;

	return limit != 0 && (all == 0 || limit < all) ? limit : all;
}

uint64_t cache_room_of(uint64_t max_size, uint64_t memory)
{
	uint64_t room = memory != 0 && memory / SHARE < max_size ? memory / SHARE : max_size;

	return room > 0 || max_size == 0 ? room : 1;
}

uint64_t cache_room_size(const struct conf *conf)
{
	return cache_room_of(conf->cache.max_size, memory_there());
}

/* True if the memory has no room for max-size; with a text. */
static bool is_less(const struct conf *conf, char text[256])
{
	uint64_t memory = memory_there(), room = cache_room_of(conf->cache.max_size, memory);
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
