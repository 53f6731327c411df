/*
 * arena: chunks of malloc behind a bump pointer. Under AddressSanitizer each allocation is a
 * chunk, so that it reports overruns and uses after the end.
 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct arena_chunk {
	struct arena_chunk *next;
	_Alignas(max_align_t) char data[];
};

enum { CHUNK = 4096 - 16 }; /* malloc(3) fits this much into a page */

/* Returned for no bytes, even by an empty arena: not NULL. */
static _Alignas(8) char nothing[8];

/* Makes the n bytes at p the free space, cut down to whole eights. */
static void use(struct arena *a, char *p, size_t n)
{
	a->cur = p;
	a->end = p + (n & ~(size_t)7);
}

static void rewind_to_first(struct arena *a)
{
	uintptr_t skip = -(uintptr_t)a->first & 7;

	if (a->first == NULL || (size_t)(a->first_end - a->first) < skip)
		use(a, nothing, 0);
	else
		use(a, a->first + skip, (size_t)(a->first_end - a->first) - skip);
}

void arena_init(struct arena *a, void *first, size_t first_size, size_t cap)
{
	*a = (struct arena){ .first = first, .cap = cap };
	if (first != NULL)
		a->first_end = a->first + first_size;
	rewind_to_first(a);
}

#ifdef __SANITIZE_ADDRESS__
/* The first buffer is not used, but what it would have held is not taken from the cap. */
void *arena_alloc_slow(struct arena *a, size_t n)
{
	struct arena_chunk *chunk;
	size_t eights = (n + 7) & ~(size_t)7;
	bool first = eights <= (size_t)(a->end - a->cur);

	if (n > PTRDIFF_MAX || (!first && eights > a->cap - a->used))
		return NULL;
	chunk = malloc(sizeof(*chunk) + n);
	if (chunk == NULL)
		return NULL;
	if (first)
		a->cur += eights;
	else
		a->used += eights;
	chunk->next = a->chunks;
	a->chunks = chunk;
	return chunk->data;
}
#else
void *arena_alloc_slow(struct arena *a, size_t n)
{
	struct arena_chunk *chunk;
	size_t left = a->cap - a->used;
	size_t size;

	if (n > PTRDIFF_MAX) /* The limit of malloc(3); no sum below it wraps */
		return NULL;
	n = (n + 7) & ~(size_t)7;
	size = sizeof(*chunk) + n;
	if (size > left)
		return NULL;
	if (size < CHUNK)
		size = left < CHUNK ? left : CHUNK;
	chunk = malloc(size);
	if (chunk == NULL)
		return NULL;
	a->used += size;
	chunk->next = a->chunks;
	a->chunks = chunk;
	/* A large piece gets its own chunk; the current one keeps its space. */
	if (size - sizeof(*chunk) - n >= (size_t)(a->end - a->cur))
		use(a, chunk->data + n, size - sizeof(*chunk) - n);
	return chunk->data;
}
#endif

void *arena_alloc_any(struct arena *a, size_t n)
{
	size_t skip = -(uintptr_t)a->cur & (_Alignof(max_align_t) - 1);

	/* A new chunk begins aligned. */
	if (skip <= (size_t)(a->end - a->cur))
		a->cur += skip;
	return arena_alloc(a, n);
}

void *arena_zalloc(struct arena *a, size_t n)
{
	void *p = arena_alloc_any(a, n);

	return p != NULL ? memset(p, 0, n) : NULL;
}

void *arena_grow(struct arena *a, void *v, size_t n, size_t size)
{
	size_t room = (n == 0 ? 1 : 2 * n) * size;
	void *more;

	if ((n & (n - 1)) != 0)
		return v;
	more = arena_alloc(a, room);
	if (more != NULL)
		memset(more, 0, room);
	if (more != NULL && n > 0)
		memcpy(more, v, n * size);
	return more;
}

struct slice arena_dup(struct arena *a, struct slice s)
{
	char *p = s.n < SIZE_MAX ? arena_alloc(a, s.n + 1) : NULL;

	if (p == NULL)
		return (struct slice){ 0 };
	if (s.n > 0)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return slice_of(p, s.n);
}

struct slice arena_join(struct arena *arena, struct slice a, struct slice b)
{
	size_t n;
	char *p = NULL;

	if (!__builtin_add_overflow(a.n, b.n, &n))
		p = arena_alloc(arena, n);
	if (p == NULL)
		return (struct slice){ 0 };
	memcpy(p, a.p, a.n);
	memcpy(p + a.n, b.p, b.n);
	return slice_of(p, n);
}

char *arena_strdup(struct arena *a, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = arena_alloc(a, n);

	return p != NULL ? memcpy(p, s, n) : NULL;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list args)
{
	char *start = a->cur;
	char *p;
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(start, (size_t)(a->end - start), fmt, args);
	p = n >= 0 ? arena_alloc(a, (size_t)n + 1) : NULL;
	if (p != NULL && p != start)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list args;
	char *p;

	va_start(args, fmt);
	p = arena_vprintf(a, fmt, args);
	va_end(args);
	return p;
}

void arena_reset(struct arena *a)
{
	while (a->chunks != NULL) {
		struct arena_chunk *chunk = a->chunks;

		a->chunks = chunk->next;
		free(chunk);
	}
	a->used = 0;
	rewind_to_first(a);
}
