/*
 * h2_mem: size-class free lists under nghttp2, as a session makes and drops a handful of small
 * blocks per request (measured: 5 % of the instructions). Every block begins with its class; blocks
 * above the largest class are pages of the session (h2_pages.h), without one, or from malloc. Under
 * AddressSanitizer no block is kept, so that it sees every use after free.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/h2.h"

enum {
	STEP = 64,    /* classes are multiples of this */
	CLASSES = 16, /* up to 1024 bytes */
	KEEP = 4096,  /* blocks kept per class */
};

/* A block's head, before it; 16 bytes keep malloc's alignment. */
struct head {
	size_t size;       /* usable bytes after the head */
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

/* Makes a new block: of a class without free ones (size is all of it), or of no class. */
static __attribute__((noinline)) void *get_new(size_t size, struct h2_pages *pages)
{
	struct head *h;
	void *page = h2_pages_get(pages, size);

	if (page != NULL)
		return page;
	h = malloc(sizeof(*h) + size);
	if (h == NULL)
		return NULL;
	h->size = size;
	return h + 1;
}

static void *mem_malloc(size_t size, void *user)
{
	size_t class = size == 0 ? 0 : (size - 1) / STEP;
	struct head *h;

	if (class >= CLASSES)
		return get_new(size, user);
	h = classes[class].free;
	if (h == NULL)
		return get_new((class + 1) * STEP, user);
	classes[class].free = h->next;
	classes[class].n--;
	return h + 1;
}

static void mem_free(void *p, void *user)
{
	struct head *h;
	size_t class;

	/* At the start of a page: NULL, one of the session's pages, or by chance another. */
	if (h2_pages_starts(p) && (p == NULL || h2_pages_put(user, p)))
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

static void *mem_calloc(size_t n, size_t size, void *user)
{
	void *p;

	if (size != 0 && n > SIZE_MAX / size)
		return NULL;
	p = mem_malloc(n * size, user);
	if (p != NULL)
		memset(p, 0, n * size);
	return p;
}

static void *mem_realloc(void *p, size_t size, void *user)
{
	void *q;
	size_t old;

	if (p == NULL)
		return mem_malloc(size, user);
	old = h2_pages_starts(p) ? h2_pages_size(user, p) : 0;
	if (old == 0)
		old = ((struct head *)p - 1)->size;
	if (size <= old)
		return p;
	q = mem_malloc(size, user);
	if (q == NULL)
		return NULL;
	memcpy(q, p, old);
	mem_free(p, user);
	return q;
}

nghttp2_mem h2_mem(struct h2_pages *pages)
{
	return (nghttp2_mem){ pages, mem_malloc, mem_free, mem_calloc, mem_realloc };
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
	h2_pages_trim();
}
