/*
 * segment_map: the list of the segments that a worker uses, and their ends. Called on the loop, but
 * where segment_map.h says otherwise; it maps and unmaps by mapping.c, off the loop.
 */
#include "image/segment_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "image/mapping.h"

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
