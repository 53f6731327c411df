/*
 * pool: a free list of equal blocks, for what comes and goes with every request. It keeps at most
 * as many free blocks as it was told and gives the rest back to malloc; it counts the blocks that
 * are out, so that a leak is seen. A pool belongs to one thread.
 */
#ifndef H2D_BASE_POOL_H
#define H2D_BASE_POOL_H

#include <stddef.h>

struct pool {
	const char *name;
	size_t size;   /* bytes per block */
	unsigned keep; /* free blocks kept at most */
	unsigned nfree;
	unsigned live; /* blocks handed out */
	void *free;
};

void pool_init(struct pool *pool, const char *name, size_t size, unsigned keep);

/* A block of pool->size bytes, not cleared, aligned for any type; NULL when memory is out. */
void *pool_get(struct pool *pool);

/* Takes block back. NULL is allowed. */
void pool_put(struct pool *pool, void *block);

/*
 * How many blocks a pool keeps whose blocks others may touch for longer than they should, of n:
 * none under AddressSanitizer, which keeps them from being used again, and sees every late touch.
 */
#ifdef __SANITIZE_ADDRESS__
#define POOL_KEEP(n) 0
#else
#define POOL_KEEP(n) (n)
#endif

/* Frees what is kept. */
void pool_trim(struct pool *pool);

/* Frees what is kept; asserts that nothing is out. */
void pool_fini(struct pool *pool);

#endif
