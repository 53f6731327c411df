/*
 * arena: memory that dies with its owner (a request, a configuration). Beyond a cap arena_alloc()
 * returns NULL, and the owner turns that into 431, 503 or a configuration error. Any length may be
 * asked for: one that would wrap exceeds every cap. An arena belongs to one thread.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/slice.h"

struct arena_chunk;

struct arena {
	char *cur, *end;         /* free space of the current chunk; both aligned to 8 */
	char *first, *first_end; /* the caller's first buffer, may be NULL */
	struct arena_chunk *chunks;
	size_t used, cap; /* bytes taken from malloc, and their limit */
};

/* first (may be NULL) is memory of the caller, used before malloc is; it must outlive the arena. */
void arena_init(struct arena *a, void *first, size_t first_size, size_t cap);

/* Aligned to 8 bytes, not cleared. NULL beyond the cap or when memory is out. Inline for the hot
 * path. */
__attribute__((noinline)) void *arena_alloc_slow(struct arena *a, size_t n);
static inline void *arena_alloc(struct arena *a, size_t n)
{
#ifndef __SANITIZE_ADDRESS__
	if (__builtin_expect(n <= (size_t)(a->end - a->cur), 1)) {
		char *p = a->cur;

		/* Free space comes in eights, so the rest of the last eight is free, too. */
		a->cur += (n + 7) & ~(size_t)7;
		return p;
	}
#endif
	return arena_alloc_slow(a, n);
}

/* Aligned for any type, like malloc(3); not cleared. */
void *arena_alloc_any(struct arena *a, size_t n);
void *arena_zalloc(struct arena *a, size_t n);

/* Room for one more than n objects of size at v: v itself, or, when n is 0 or a power of two, a
 * zeroed copy with twice the room, aligned to 8 bytes. NULL when memory is out. */
void *arena_grow(struct arena *a, void *v, size_t n, size_t size);

/* Copies s and appends a NUL; p is NULL when memory is out. */
struct slice arena_dup(struct arena *a, struct slice s);
/* a and b joined, without a NUL; p is NULL when memory is out. */
struct slice arena_join(struct arena *arena, struct slice a, struct slice b);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Frees all chunks; the arena is as after arena_init. */
void arena_reset(struct arena *a);

/* The last call before another arena_init. Inline, as most requests have no chunk. */
static inline void arena_fini(struct arena *a)
{
	if (a->chunks != NULL)
		arena_reset(a);
}
