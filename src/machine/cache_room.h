/*
 * cache_room: how much of cache.max-size the memory that h2d has allows, which is that of the
 * machine or of its control group. No more than a quarter: while images are replaced twice as much
 * may be alive, and the workers have what is left. Each time the kernel kills a process of h2d for
 * want of memory it becomes half as much.
 */
#ifndef H2D_MACHINE_CACHE_ROOM_H
#define H2D_MACHINE_CACHE_ROOM_H

#include <stdbool.h>

#include "conf/conf.h"

struct cache_room {
	uint64_t asked, memory; /* halved of these: another max-size or memory begins anew */
	unsigned halved;
	uint64_t kills;  /* as the kernel counts them; at the last look */
	unsigned untold; /* SIGKILLs where it does not */
};

void cache_room_init(struct cache_room *r);

/* The part of conf's max-size that a keeper that starts now may take. */
uint64_t cache_room_size(const struct cache_room *r, const struct conf *conf);

/*
 * A process of conf's generation was killed by SIGKILL, and not by h2d. True: for want of memory,
 * as the kernel's count tells, and keepers get half as much from now on.
 */
bool cache_room_struck(struct cache_room *r, const struct conf *conf);

/*
 * Whether the kernel's count says of a SIGKILL that it was for want of memory. Where there is no
 * count (CGROUP_UNTOLD) each second one is taken for that. Pure.
 */
bool cache_room_tells(struct cache_room *r, uint64_t kills);

/* Warns if the max-size that conf's files have set is more than there is room for. */
void cache_room_check(const struct conf *conf, conf_fault_fn *warn, void *ctx);

/* Logs that the default is. */
void cache_room_log(const struct conf *conf);

/* The part of max_size for so much memory (0: nobody knows), halved so often; 0 only where max_size
 * is. Pure. */
uint64_t cache_room_of(uint64_t max_size, uint64_t memory, unsigned halved);

#endif
