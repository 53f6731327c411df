/*
 * segment_map: the list of the segments that a worker uses, and their ends. Called on the loop,
 * unless segment_map.h allows threads; it maps and unmaps off the loop, and never reads a segment's
 * content.
 */
#include "image/segment_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "image/memfd.h"

/* Counts n more bytes of it (or less) as copies. */
static void count_copied(struct segment_map *s, int64_t n)
{
	if (s->of == NULL)
		return;
	s->copied += (uint64_t)n;
	s->of->copied += (uint64_t)n;
	COUNT(held_bytes, n);
}

void segment_maps_init(struct segment_maps *all, struct offload *o)
{
	*all = (struct segment_maps){ .offload = o };
	list_init(&all->all);
}

void segment_maps_fini(struct segment_maps *all)
{
	LIST_EACH(struct segment_map, s, node, &all->all) {
		count_copied(s, -(int64_t)s->copied);
		s->of = NULL;
		list_remove(&s->node);
	}
}

static void let_last_go(struct segment_map *s)
{
	struct ref *last = s->last;

	s->last = NULL;
	if (last != NULL)
		ref_put(last);
}

/* In any thread: the memfd's last reference frees all of its memory. */
static void let_go(struct segment_map *s)
{
	if (s->file.fd >= 0)
		close(s->file.fd);
	if (s->size > 0)
		munmap((void *)(uintptr_t)s->bytes, s->size);
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

static void free_in_thread(struct segment_map *s, struct segment_maps *all)
{
	s->job = (struct job){ .work = free_work, .done = free_done };
	if (all == NULL || offload_submit(all->offload, &s->job) < 0)
		segment_map_free(&s);
}

/* No image map and no borrower has it. */
static void release_segment(struct ref *ref)
{
	struct segment_map *s = LIST_ENTRY(ref, struct segment_map, ref);
	struct segment_maps *all = s->of;

	count_copied(s, -(int64_t)s->copied);
	list_remove(&s->node);
	let_last_go(s);
	free_in_thread(s, all);
}

static struct segment_map *map_segment(int fd, const char **fault)
{
	struct segment_map *s;
	struct stat st;

	*fault = "not sealed";
	if (memfd_sealed_size(fd, true) < 0 || fstat(fd, &st) < 0)
		return NULL;
	*fault = "out of memory";
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->size = (uint64_t)st.st_size;
	s->bytes = (const uint8_t *)"";
	if (s->size > 0)
		s->bytes = mmap(NULL, s->size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (s->bytes != MAP_FAILED)
		return s;
	*fault = "cannot be mapped";
	free(s);
	return NULL;
}

struct segment_map *segment_map_new(int fd, const char **fault)
{
	struct segment_map *s = map_segment(fd, fault);

	if (s == NULL)
		return NULL;
	*fault = NULL;
	list_init(&s->node);
	/* Without one its bytes are copied into sockets. */
	s->file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	s->file.bytes = s->bytes;
	return s;
}

static struct segment_map *find_segment(struct segment_maps *all, dev_t dev, ino_t ino)
{
	LIST_EACH(struct segment_map, s, node, &all->all) {
		if (s->dev != dev || s->ino != ino || s->gone || s->pages != NULL)
			continue;
		ref_get(&s->ref);
		s->images++;
		let_last_go(s);
		return s;
	}
	return NULL;
}

struct segment_map *segment_map_find(struct segment_maps *all, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? find_segment(all, st.st_dev, st.st_ino) : NULL;
}

struct segment_map *segment_map_join(struct segment_maps *all, struct segment_map *s)
{
	struct segment_map *same = find_segment(all, s->dev, s->ino);

	if (same != NULL) {
		free_in_thread(s, all);
		return same;
	}
	ref_init(&s->ref, release_segment);
	s->ref.in_file = true;
	s->of = all;
	s->images = 1;
	list_append(&all->all, &s->node);
	return s;
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

/* Every reference is asked for its bytes, and counted: unnamed bytes are gone afterwards, so a
 * missed one is our bug. */

enum { WORD = 64 };

/* The borrowers were asked, and that is not complete. */
static bool in_question(const struct segment_map *s)
{
	return s->pages != NULL && !s->copying;
}

static bool is_marked(const struct segment_map *s, uint64_t page)
{
	return s->pages[page / WORD] >> page % WORD & 1;
}

/* Marks pages first to last, if there is room for the unmarked ones. */
static bool mark(struct segment_map *s, uint64_t first, uint64_t last)
{
	uint64_t n = 0;

	for (uint64_t page = first; page <= last; page++)
		n += !is_marked(s, page);
	n *= SEGMENT_MAP_PAGE;
	if (s->of->copied + n > s->of->copied_max)
		return false;
	for (uint64_t page = first; page <= last; page++)
		s->pages[page / WORD] |= UINT64_C(1) << page % WORD;
	count_copied(s, (int64_t)n);
	return true;
}

static enum lender_answer needs(struct lender *l, struct ref *ref, const void *p, size_t n)
{
	struct segment_map *s = LIST_ENTRY(ref, struct segment_map, ref);
	uint64_t at;

	(void)l;
	if (ref->release != release_segment || !in_question(s))
		return LENDER_OTHER;
	at = (uint64_t)((const uint8_t *)p - s->bytes);
	H2D_ASSERT(n == 0 || (at < s->size && n <= s->size - at));
	if (n > 0 && !mark(s, at / SEGMENT_MAP_PAGE, (at + n - 1) / SEGMENT_MAP_PAGE)) {
		COUNT(pieces_refused, 1);
		log_peer(LEVEL_WARN,
			"cache: no room to copy old images for slow clients; cutting them off");
		s->refused = true;
		return LENDER_REFUSES;
	}
	s->found++;
	return LENDER_COPIES;
}

static void forget_orphan(struct segment_map *s)
{
	count_copied(s, -(int64_t)s->copied);
	free(s->pages);
	s->pages = NULL;
}

static bool begin_asking(struct segment_map *s)
{
	uint64_t npages = (s->size + SEGMENT_MAP_PAGE - 1) / SEGMENT_MAP_PAGE;

	s->pages = calloc(npages / WORD + 1, sizeof(*s->pages));
	s->found = 0;
	s->refused = false;
	return s->pages != NULL;
}

struct lender *orphans_due(struct segment_maps *all, uint64_t now_ms)
{
	static struct lender lender = { .needs = needs };
	bool any = false;

	LIST_EACH(struct segment_map, s, node, &all->all)
		if (s->last != NULL && !s->copying && now_ms - s->orphan_ms >= ORPHAN_MS)
			any |= begin_asking(s);
	return any ? &lender : NULL;
}

static void copy_pages(const struct segment_map *s, uint8_t *to)
{
	for (uint64_t at = 0; at < s->size; at += SEGMENT_MAP_PAGE) {
		uint64_t left = s->size - at;

		if (is_marked(s, at / SEGMENT_MAP_PAGE))
			memcpy(to + at, s->bytes + at,
				left < SEGMENT_MAP_PAGE ? left : SEGMENT_MAP_PAGE);
	}
}

/*
 * Replaces the pages by copies, other bytes read as zeros, and releases the memfd. 0, or -errno:
 * unchanged.
 */
static int copy_marked(const struct segment_map *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (s->size + page - 1) & ~(page - 1);
	uint8_t *copy;
	int rc = 0;

	if (n == 0)
		return 0;
	copy = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	if (copy == MAP_FAILED)
		return -errno;
	/* A page must cost no more than a page. */
	madvise(copy, n, MADV_NOHUGEPAGE);
	copy_pages(s, copy);
	/* One step: a reader sees either of them meanwhile, and both are the same. */
	if (mprotect(copy, n, PROT_READ) < 0 ||
		mremap(copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, s->bytes) == MAP_FAILED) {
		rc = -errno;
		munmap(copy, n);
	}
	return rc;
}

static void copy_work(struct job *j)
{
	struct segment_map *s = LIST_ENTRY(j, struct segment_map, job);

	s->error = copy_marked(s);
	if (s->closing >= 0)
		close(s->closing);
}

static void copy_done(struct job *j)
{
	struct segment_map *s = LIST_ENTRY(j, struct segment_map, job);

	s->copying = false;
	if (s->error < 0) {
		log_peer(LEVEL_ERROR, "cache: copying an old image: %s; retrying",
			strerror(-s->error));
		forget_orphan(s);
	} else {
		COUNT(pieces_moved, s->found);
		free(s->pages);
		s->pages = NULL;
		s->gone = true;
		let_last_go(s);
	}
	ref_put(&s->ref);
}

static void copy_orphan(struct segment_map *s)
{
	H2D_ASSERT(s->found == s->ref.count);
	/* The last descriptor frees the memfd; from now on sockets copy. */
	s->closing = s->file.fd;
	s->file.fd = -1;
	s->job = (struct job){ .work = copy_work, .done = copy_done };
	s->copying = offload_submit(s->of->offload, &s->job) == 0;
	if (s->copying) {
		ref_get(&s->ref);
		return;
	}
	/* No thread is available: it is due again. */
	s->file.fd = s->closing;
	forget_orphan(s);
}

void orphans_copy(struct segment_maps *all)
{
	LIST_EACH(struct segment_map, s, node, &all->all) {
		if (!in_question(s))
			continue;
		if (s->refused)
			forget_orphan(s);
		else
			copy_orphan(s);
	}
}
