/*
 * pool: under AddressSanitizer a free block is poisoned, and the free list's link follows the
 * block, so that any touch of a free block is reported.
 */
#include "base/pool.h"

#include <stdlib.h>

#include "base/assert.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define LINK_OFFSET(pool) ((pool)->size)
#define BLOCK_SIZE(pool)  ((pool)->size + sizeof(void *))
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p))
#define LINK_OFFSET(pool)                 0
#define BLOCK_SIZE(pool)                  ((pool)->size)
#endif

static struct list pools = { &pools, &pools };

static void **link_of(const struct pool *pool, void *block)
{
	(void)pool;
	return (void **)(void *)((char *)block + LINK_OFFSET(pool));
}

void pool_init(struct pool *pool, size_t size, unsigned keep)
{
	size = (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
	*pool = (struct pool){ .size = size, .keep = keep };
	H2D_ASSERT(size > 0);
}

inline void *pool_get(struct pool *pool) /* LTO by itself makes it a call */
{
	void *block = pool->free;

	if (__builtin_expect(block != NULL, 1)) {
		pool->free = *link_of(pool, block);
		pool->nfree--;
		ASAN_UNPOISON_MEMORY_REGION(block, pool->size);
	} else {
		block = malloc(BLOCK_SIZE(pool));
		if (block == NULL)
			return NULL;
		if (pool->node.next == NULL)
			list_append(&pools, &pool->node);
	}
	ASAN_POISON_MEMORY_REGION(link_of(pool, block), sizeof(void *));
	pool->live++;
	return block;
}

void pool_put(struct pool *pool, void *block)
{
	if (block == NULL)
		return;
	H2D_ASSERT(pool->live > 0);
	pool->live--;
	if (pool->nfree >= pool->keep) {
		free(block);
		return;
	}
	ASAN_UNPOISON_MEMORY_REGION(link_of(pool, block), sizeof(void *));
	*link_of(pool, block) = pool->free;
	ASAN_POISON_MEMORY_REGION(block, pool->size);
	pool->free = block;
	pool->nfree++;
}

static void trim(struct pool *pool)
{
	while (pool->free != NULL) {
		void *block = pool->free;

		pool->free = *link_of(pool, block);
		free(block);
	}
	pool->nfree = 0;
}

void pool_fini(struct pool *pool)
{
	H2D_ASSERT(pool->live == 0);
	trim(pool);
	if (pool->node.next != NULL)
		list_remove(&pool->node);
	pool->node = (struct list){ 0 };
}

void pools_trim(void)
{
	LIST_EACH(struct pool, p, node, &pools)
		trim(p);
}

void pools_fini(void)
{
	LIST_EACH(struct pool, p, node, &pools)
		pool_fini(p);
}
