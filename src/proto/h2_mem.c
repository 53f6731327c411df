/*
 * h2_mem: size-class free lists under nghttp2. Every block carries its class in front; blocks above
 * the largest class go straight to malloc. Under AddressSanitizer nothing is kept, so that it sees
 * every use after free.
 */
#include "proto/h2_mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	STEP = 64,    /* classes are multiples of this */
	CLASSES = 16, /* up to 1024 bytes */
	KEEP = 4096,  /* blocks kept per class */
};

/* In front of every block; 16 bytes keep malloc's alignment. */
struct head {
	size_t size;       /* usable bytes behind the head */
	struct head *next; /* on a free list */
};

static struct {
	struct head *free;
	unsigned n;
} classes[CLASSES];

#ifdef __SANITIZE_ADDRESS__
static const bool keep = false;
#else
static const bool keep = true;
#endif

static void *get(size_t size)
{
	size_t class = size == 0 ? 0 : (size - 1) / STEP;
	struct head *h;

	if (class < CLASSES) {
		h = classes[class].free;
		if (h != NULL) {
			classes[class].free = h->next;
			classes[class].n--;
			return h + 1;
		}
		size = (class + 1) * STEP;
	} else if (size > SIZE_MAX - sizeof(*h)) {
		return NULL;
	}
	h = malloc(sizeof(*h) + size);
	if (h == NULL)
		return NULL;
	h->size = size;
	return h + 1;
}

static void put(void *p)
{
	struct head *h;
	size_t class;

	if (p == NULL)
		return;
	h = (struct head *)p - 1;
	class = (h->size - 1) / STEP;
	if (keep && class < CLASSES && classes[class].n < KEEP) {
		h->next = classes[class].free;
		classes[class].free = h;
		classes[class].n++;
	} else {
		free(h);
	}
}

static void *mem_malloc(size_t size, void *user)
{
	(void)user;
	return get(size);
}

static void mem_free(void *p, void *user)
{
	(void)user;
	put(p);
}

static void *mem_calloc(size_t n, size_t size, void *user)
{
	void *p;

	(void)user;
	if (size != 0 && n > SIZE_MAX / size)
		return NULL;
	p = get(n * size);
	if (p != NULL)
		memset(p, 0, n * size);
	return p;
}

static void *mem_realloc(void *p, size_t size, void *user)
{
	void *q;
	size_t old;

	(void)user;
	if (p == NULL)
		return get(size);
	old = ((struct head *)p - 1)->size;
	if (size <= old)
		return p;
	q = get(size);
	if (q == NULL)
		return NULL;
	memcpy(q, p, old);
	put(p);
	return q;
}

nghttp2_mem *h2_mem(void)
{
	static nghttp2_mem mem = { NULL, mem_malloc, mem_free, mem_calloc, mem_realloc };

	return &mem;
}

void h2_mem_trim(void)
{
	for (int i = 0; i < CLASSES; i++) {
		struct head *next;

		for (struct head *h = classes[i].free; h != NULL; h = next) {
			next = h->next;
			free(h);
		}
		classes[i].free = NULL;
		classes[i].n = 0;
	}
}
