/*
 * pool: a free list of equal blocks, for objects of single requests. It counts the blocks in use,
 * so that a leak is seen. All pools of a process belong to one thread.
 */
#pragma once

#include <stddef.h>

#include "base/list.h"

struct pool {
	size_t size;   /* bytes per block */
	unsigned keep; /* free blocks kept at most */
	unsigned nfree;
	unsigned live; /* blocks handed out */
	void *free;
	struct list node; /* of the pools that had a block */
};

void pool_init(struct pool *pool, size_t size, unsigned keep);

/* A block of pool->size bytes, not cleared, aligned for any type; NULL when memory is out. */
void *pool_get(struct pool *pool);

/* Takes block back. NULL is allowed. */
void pool_put(struct pool *pool, void *block);

/*
 * The number of blocks to keep, of n, in a pool whose blocks may be used after their end: none
 * under AddressSanitizer, which then reports every late use.
 */
#ifdef __SANITIZE_ADDRESS__
#define POOL_KEEP(n) 0
#else
#define POOL_KEEP(n) (n)
#endif

/* Frees the kept blocks; asserts that none is in use. */
void pool_fini(struct pool *pool);

/* Frees the kept blocks of all pools. */
void pools_trim(void);

/* pool_fini() for all pools: at the end of a process. */
void pools_fini(void);
