/*
 * orphan: marks the pages of orphans that borrowers need, and has a thread copy those. Every
 * reference is asked for its bytes, and counted: what nobody named is gone afterwards, so one that
 * was not asked is a fault of ours.
 */
#include "image/segment_map.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/log.h"
#include "image/mapping.h"

enum { WORD = 64 };

/* It was asked who needs what of it, and that is not done with yet. */
static bool in_question(const struct segment_map *s)
{
	return s->pages != NULL && !s->copying;
}

static bool is_marked(const struct segment_map *s, uint64_t page)
{
	return s->pages[page / WORD] >> page % WORD & 1;
}

/* Pages first to last, if there is room for those that are not marked yet. */
static bool mark(struct segment_map *s, uint64_t first, uint64_t last)
{
	uint64_t n = 0;

	for (uint64_t page = first; page <= last; page++)
		n += !is_marked(s, page);
	n *= MAPPING_PAGE;
	if (s->of->copied + n > s->of->copied_max)
		return false;
	for (uint64_t page = first; page <= last; page++)
		s->pages[page / WORD] |= UINT64_C(1) << page % WORD;
	segment_map_copied(s, (int64_t)n);
	return true;
}

static enum lender_answer needs(struct lender *l, struct ref *ref, const void *p, size_t n)
{
	struct segment_map *s = segment_map_of(ref);
	uint64_t at;

	(void)l;
	if (s == NULL || !in_question(s))
		return LENDER_OTHER;
	at = (uint64_t)((const uint8_t *)p - s->bytes);
	H2D_ASSERT(n == 0 || (at < s->size && n <= s->size - at));
	if (n > 0 && !mark(s, at / MAPPING_PAGE, (at + n - 1) / MAPPING_PAGE)) {
		COUNT(pieces_refused, 1);
		log_peer(LEVEL_WARN, "cache: no room for what slow clients hold of old images");
		s->refused = true;
		return LENDER_REFUSES;
	}
	s->found++;
	return LENDER_COPIES;
}

static void forget_orphan(struct segment_map *s)
{
	segment_map_copied(s, -(int64_t)s->copied);
	free(s->pages);
	s->pages = NULL;
}

static bool is_due(const struct segment_map *s, uint64_t now_ms)
{
	return s->last != NULL && !s->copying && now_ms - s->orphan_ms >= ORPHAN_MS;
}

static bool begin_asking(struct segment_map *s)
{
	uint64_t npages = (s->size + MAPPING_PAGE - 1) / MAPPING_PAGE;

	/* A thread has found it again for an image that is to come. */
	if (!mapping_detach(s->mapping))
		return false;
	s->pages = calloc(npages / WORD + 1, sizeof(*s->pages));
	s->found = 0;
	s->refused = false;
	return s->pages != NULL;
}

struct lender *orphans_due(struct segment_maps *all, uint64_t now_ms)
{
	static struct lender lender = { .needs = needs };
	bool any = false;

	LIST_FOREACH(node, &all->all) {
		struct segment_map *s = LIST_ENTRY(node, struct segment_map, node);

		if (is_due(s, now_ms))
			any |= begin_asking(s);
	}
	return any ? &lender : NULL;
}

static void copy_work(struct job *j)
{
	struct segment_map *s = LIST_ENTRY(j, struct segment_map, job);

	s->error = mapping_copy(s->mapping, s->pages);
	if (s->closing >= 0)
		close(s->closing);
}

static void copy_done(struct job *j)
{
	struct segment_map *s = LIST_ENTRY(j, struct segment_map, job);

	s->copying = false;
	if (s->error < 0) {
		log_peer(LEVEL_ERROR, "cache: copying of an old image: %s", strerror(-s->error));
		forget_orphan(s);
	} else {
		COUNT(pieces_moved, s->found);
		free(s->pages);
		s->pages = NULL;
		segment_map_let_last_go(s);
	}
	ref_put(&s->ref);
}

/* No thread can be had: it is due again. */
static void copy_left_out(struct segment_map *s)
{
	s->file.fd = s->closing;
	forget_orphan(s);
}

static void copy_orphan(struct segment_map *s)
{
	H2D_ASSERT(s->found == s->ref.count);
	/* The memfd is freed with its last descriptor; from now on sockets copy. */
	s->closing = s->file.fd;
	s->file.fd = -1;
	s->job = (struct job){ .work = copy_work, .done = copy_done };
	s->copying = offload_submit(s->of->offload, &s->job) == 0;
	if (s->copying)
		ref_get(&s->ref);
	else
		copy_left_out(s);
}

void orphans_copy(struct segment_maps *all)
{
	LIST_FOREACH(node, &all->all) {
		struct segment_map *s = LIST_ENTRY(node, struct segment_map, node);

		if (!in_question(s))
			continue;
		if (s->refused)
			forget_orphan(s);
		else
			copy_orphan(s);
	}
}
