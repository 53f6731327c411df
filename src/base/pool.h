/*
 * pool: free list of equal blocks, for what comes and goes with every request. One thread only. Keeps
 * at most keep free blocks, the rest goes back to malloc; counts what is out, so that a leak is seen.
 */
#ifndef H2D_BASE_POOL_H
#define H2D_BASE_POOL_H

#include <stddef.h>

struct pool {
	const char *name;
	size_t size;       /* bytes per block */
	unsigned keep;     /* free blocks kept at most */
	unsigned nfree;
	unsigned live;     /* blocks handed out */
	void *free;
};

void pool_init(struct pool *pool, const char *name, size_t size, unsigned keep);

/* A block of pool->size bytes, not cleared, aligned for any type; NULL when memory is out. */
void *pool_get(struct pool *pool);

/* Takes block back. NULL is allowed. */
void pool_put(struct pool *pool, void *block);

/* Frees what is kept; asserts that nothing is out. */
void pool_fini(struct pool *pool);

#endif
