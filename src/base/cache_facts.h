/* cache_facts: what the keeper tells of the cache, by number: from cache_facts.def. Pure. */
#ifndef H2D_BASE_CACHE_FACTS_H
#define H2D_BASE_CACHE_FACTS_H

#include <stdint.h>

enum {
#define FACT(name, help) CACHE_FACT_##name,
#include "base/cache_facts.def"
	CACHE_FACTS,
};

struct cache_facts {
	uint64_t v[CACHE_FACTS];
};

#endif
