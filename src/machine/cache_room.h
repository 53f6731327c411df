/*
 * cache_room: the part of cache.max-size that fits into h2d's memory: at most a quarter: while
 * images are replaced twice as much may be live, and the workers need the rest.
 */
#pragma once

#include "conf/conf.h"

/* The part of conf's max-size for a keeper that starts now. */
uint64_t cache_room_size(const struct conf *conf);

/* Warns if the configured max-size exceeds the room. */
void cache_room_check(const struct conf *conf, conf_fault_fn *warn, void *ctx);

/* Logs the same for the default. */
void cache_room_log(const struct conf *conf);

/* The part of max_size for so much memory (0: unknown); 0 only if max_size is. Pure. */
uint64_t cache_room_of(uint64_t max_size, uint64_t memory);
