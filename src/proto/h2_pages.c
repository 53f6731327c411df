/*
 * h2_pages: slots for sessions, 64 to a mapping. It never takes a page in use from a session: a
 * frame is made and copied within one call of h2_output(), and the table is checked.
 */
#include "proto/h2_pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/list.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p))
#endif

enum {
	TABLE = H2_PAGE,     /* a first table of streams, nghttp2 1.52; that of 1.64 is small */
	FRAME = 5 * H2_PAGE, /* a frame of 16 KiB, and its head */
	FRAME_LEAST = 4 * H2_PAGE,
	SLOT = TABLE + FRAME,
	SLOTS = 64,   /* in a mapping: 1.5 MiB */
	QUIET = 2,    /* looks, and one more, so that it was at least a second */
	RESTS = 1024, /* sessions that a look takes pages from: about a millisecond */
};

struct h2_slots {
	struct list node; /* linked: it has a free slot */
	char *mem;
	unsigned nfree;
	uint8_t free[SLOTS]; /* their numbers, the last freed one last */
};

/* Mappings with free slots; fully free ones at the end, so that they stay so. */
static struct list roomy = { &roomy, &roomy };

static struct h2_slots *slots_new(void)
{
	struct h2_slots *s = malloc(sizeof(*s));

	if (s == NULL)
		return NULL;
	s->mem = mmap(NULL, (size_t)SLOTS * SLOT, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->mem == MAP_FAILED) {
		free(s);
		return NULL;
	}
	/* Two pages of a slot are used: a huge page would be all of them. */
	madvise(s->mem, (size_t)SLOTS * SLOT, MADV_NOHUGEPAGE);
	ASAN_POISON_MEMORY_REGION(s->mem, (size_t)SLOTS * SLOT);
	for (unsigned i = 0; i < SLOTS; i++)
		s->free[i] = (uint8_t)(SLOTS - 1 - i);
	s->nfree = SLOTS;
	list_append(&roomy, &s->node);
	return s;
}

void h2_pages_open(struct h2_pages *p)
{
	struct h2_slots *s;

	*p = (struct h2_pages){ 0 };
	/* With larger pages, a slot of its own would exceed malloc's needs. */
	if (sysconf(_SC_PAGESIZE) != H2_PAGE)
		return;
	s = list_empty(&roomy) ? slots_new() : LIST_ENTRY(roomy.next, struct h2_slots, node);
	if (s == NULL)
		return;
	p->of = s;
	p->mem = s->mem + (size_t)s->free[--s->nfree] * SLOT;
	p->making = true;
	if (s->nfree == 0)
		list_remove(&s->node);
	ASAN_UNPOISON_MEMORY_REGION(p->mem, SLOT);
}

void h2_pages_close(struct h2_pages *p)
{
	struct h2_slots *s = p->of;

	if (s == NULL)
		return;
	H2D_ASSERT(!p->table && p->frame == 0);
	ASAN_POISON_MEMORY_REGION(p->mem, SLOT);
	s->free[s->nfree++] = (uint8_t)((size_t)(p->mem - s->mem) / SLOT);
	if (s->nfree == 1) {
		list_prepend(&roomy, &s->node);
	} else if (s->nfree == SLOTS) {
		list_remove(&s->node);
		list_append(&roomy, &s->node);
	}
	*p = (struct h2_pages){ 0 };
}

void *h2_pages_get(struct h2_pages *p, size_t size)
{
	if (!p->making)
		return NULL;
	if (size == TABLE && !p->table) {
		p->table = true;
		return p->mem;
	}
	if (size >= FRAME_LEAST && size <= FRAME && p->frame == 0) {
		p->frame = size;
		return p->mem + TABLE;
	}
	return NULL;
}

size_t h2_pages_size(const struct h2_pages *p, const void *block)
{
	if (p->mem == NULL)
		return 0;
	if (block == p->mem)
		return TABLE;
	return block == p->mem + TABLE ? p->frame : 0;
}

bool h2_pages_put(struct h2_pages *p, const void *block)
{
	if (h2_pages_size(p, block) == 0)
		return false;
	if (block == p->mem)
		p->table = false;
	else
		p->frame = 0;
	return true;
}

void h2_pages_look(struct h2_pages *p, uint64_t now_ms)
{
	static uint64_t look_ms;
	static unsigned rests;

	if (look_ms != now_ms) {
		look_ms = now_ms;
		rests = 0;
	}
	if (p->quiet > QUIET || p->mem == NULL)
		return;
	if (p->quiet < QUIET) {
		p->quiet++;
	} else if (rests < RESTS) {
		rests++;
		p->quiet++;
		/* The frame's, as none is under way, and the table's if it is unchanged. */
		if (p->mem[0] == 0 && memcmp(p->mem, p->mem + 1, TABLE - 1) == 0)
			madvise(p->mem, SLOT, MADV_DONTNEED);
		else
			madvise(p->mem + TABLE, FRAME, MADV_DONTNEED);
	}
}

void h2_pages_trim(void)
{
	LIST_EACH(struct h2_slots, s, node, &roomy) {
		if (s->nfree < SLOTS) {
			for (unsigned i = 0; i < s->nfree; i++)
				madvise(s->mem + (size_t)s->free[i] * SLOT, SLOT, MADV_DONTNEED);
			continue;
		}
		list_remove(&s->node);
		ASAN_UNPOISON_MEMORY_REGION(s->mem, (size_t)SLOTS * SLOT);
		munmap(s->mem, (size_t)SLOTS * SLOT);
		free(s);
	}
}
