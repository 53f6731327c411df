/*
 * cache_facts: facts about the cache, from the keeper (CTL_CACHE) to the scoreboard. The struct
 * has no pointers, so that it can be sent as it is.
 */
#pragma once

#include <stdint.h>

#include "base/process_use.h"

enum {
#define FACT(name, help) CACHE_FACT_##name,
#include "base/cache_facts.def"
	CACHE_FACTS,
};

struct cache_facts {
	uint64_t v[CACHE_FACTS];
	struct process_use use; /* of the keeper */
};
