/*
 * cache_room: the part of cache.max-size that fits into h2d's memory, that of the machine or of its
 * control group. At most a quarter: while images are replaced twice as much may be live, and the
 * workers need the rest. Each time the kernel kills a process of h2d because memory is out it is
 * halved.
 */
#ifndef H2D_MACHINE_CACHE_ROOM_H
#define H2D_MACHINE_CACHE_ROOM_H

#include <stdbool.h>

#include "conf/conf.h"

struct cache_room {
	uint64_t asked, memory; /* halved of these: another max-size or memory starts again */
	unsigned halved;
	uint64_t kills;  /* the kernel's count at the last look */
	unsigned untold; /* SIGKILLs without such a count */
};

void cache_room_init(struct cache_room *r);

/* The part of conf's max-size for a keeper that starts now. */
uint64_t cache_room_size(const struct cache_room *r, const struct conf *conf);

/*
 * A process of conf's generation was killed by SIGKILL, and not by h2d. True: memory was out, by
 * the kernel's count, and keepers get half as much from now on.
 */
bool cache_room_struck(struct cache_room *r, const struct conf *conf);

/*
 * True if by the kernel's count a SIGKILL was because memory was out. Without a count
 * (CGROUP_UNTOLD) each second one is taken for that. Pure.
 */
bool cache_room_tells(struct cache_room *r, uint64_t kills);

/* Warns if the configured max-size exceeds the room. */
void cache_room_check(const struct conf *conf, conf_fault_fn *warn, void *ctx);

/* Logs the same for the default. */
void cache_room_log(const struct conf *conf);

/* The part of max_size for so much memory (0: unknown), halved so often; 0 only if max_size is.
 * Pure. */
uint64_t cache_room_of(uint64_t max_size, uint64_t memory, unsigned halved);

#endif
