/*
 * segment_map: the list of the segments that a worker uses, and their ends. Called on the loop, but
 * where segment_map.h says otherwise; it maps and unmaps by mapping.c, off the loop.
 */
#include "image/segment_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

void segment_maps_init(struct segment_maps *all, struct offload *o)
{
	*all = (struct segment_maps){ .offload = o };
	list_init(&all->all);
}

void segment_maps_fini(struct segment_maps *all)
{
	LIST_FOREACH(node, &all->all) {
		struct segment_map *s = LIST_ENTRY(node, struct segment_map, node);

		segment_map_copied(s, -(int64_t)s->copied);
		s->of = NULL;
		list_remove(node);
	}
}

void segment_map_let_last_go(struct segment_map *s)
{
	struct ref *last = s->last;

	s->last = NULL;
	if (last != NULL)
		ref_put(last);
}

void segment_map_copied(struct segment_map *s, int64_t n)
{
	if (s->of == NULL)
		return;
	s->copied += (uint64_t)n;
	s->of->copied += (uint64_t)n;
	COUNT(held_bytes, n);
}

/* In any thread: where it is the memfd's last one, all of its memory is freed. */
static void let_go(struct segment_map *s)
{
	if (s->file.fd >= 0)
		close(s->file.fd);
	mapping_put(s->mapping);
}

void segment_map_free(struct segment_map **s)
{
	let_go(*s);
	free((*s)->pages);
	free(*s);
	*s = NULL;
}

static void free_work(struct job *j)
{
	struct segment_map *s = LIST_ENTRY(j, struct segment_map, job);

	let_go(s);
}

static void free_done(struct job *j)
{
	struct segment_map *s = LIST_ENTRY(j, struct segment_map, job);

	free(s->pages);
	free(s);
}

/* Neither an image map nor a borrower has it. */
static void release_segment(struct ref *ref)
{
	struct segment_map *s = LIST_ENTRY(ref, struct segment_map, ref);
	struct segment_maps *all = s->of;

	segment_map_copied(s, -(int64_t)s->copied);
	list_remove(&s->node);
	segment_map_let_last_go(s);
	s->job = (struct job){ .work = free_work, .done = free_done };
	if (all == NULL || offload_submit(all->offload, &s->job) < 0)
		segment_map_free(&s);
}

struct segment_map *segment_map_of(struct ref *ref)
{
	return ref->release == release_segment ? LIST_ENTRY(ref, struct segment_map, ref) : NULL;
}

struct segment_map *segment_map_new(int fd, const char **fault)
{
	struct segment_map *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		*fault = "out of memory";
		return NULL;
	}
	s->mapping = mapping_get(fd, fault);
	if (s->mapping == NULL) {
		free(s);
		return NULL;
	}
	list_init(&s->node);
	s->bytes = mapping_bytes(s->mapping);
	s->size = mapping_size(s->mapping);
	/* Without one its bytes are copied into sockets. */
	s->file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	s->file.bytes = s->bytes;
	return s;
}

static struct segment_map *find_segment(struct segment_maps *all, const struct mapping *m)
{
	LIST_FOREACH(node, &all->all) {
		struct segment_map *s = LIST_ENTRY(node, struct segment_map, node);

		if (s->mapping == m)
			return s;
	}
	return NULL;
}

struct segment_map *segment_map_join(struct segment_maps *all, struct segment_map *s)
{
	struct segment_map *same = find_segment(all, s->mapping);

	if (same == NULL) {
		ref_init(&s->ref, release_segment);
		s->ref.in_file = true;
		s->of = all;
		s->images = 1;
		list_append(&all->all, &s->node);
		return s;
	}
	segment_map_free(&s);
	ref_get(&same->ref);
	same->images++;
	segment_map_let_last_go(same);
	return same;
}

void segment_map_leave(struct segment_map *s, struct ref *image)
{
	if (--s->images == 0 && s->ref.count > 1) {
		s->orphan_ms = clock_ms();
		s->last = image;
		ref_get(image);
	}
	ref_put(&s->ref);
}

/* --- orphans ---------------------------------------------------------------------------------- */

/* Every reference is asked for its bytes, and counted: what nobody named is gone afterwards, so one
 * that was not asked is a fault of ours. */

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
