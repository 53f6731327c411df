/*
 * check_orphan: what is borrowed of segments that no image has any more is copied where it is, and
 * the image goes; who does not fit is refused; what comes back into use is left alone. mremap may
 * fail (linked with --wrap).
 */
#include "image/segment_map.h"

#include <stdarg.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "files/files.h"
#include "keeper/image_build.h"
#include "loop_unit.h"

void *__wrap_mremap(void *from, size_t old, size_t n, int flags, void *to);
void *__real_mremap(void *from, size_t old, size_t n, int flags, void *to);

static bool no_mremap;

void *__wrap_mremap(void *from, size_t old, size_t n, int flags, void *to)
{
	if (!no_mremap)
		return __real_mremap(from, old, n, flags, to);
	errno = ENOMEM;
	return MAP_FAILED;
}

enum { SIZE = 1000000, DUE = ORPHAN_MS + 60000 };

static struct doc_root root = { .root = "/a", .charset = "" };
static struct doc_roots conf = {
	.roots = &root, .nroots = 1, .max_size = 8 << 20, .max_file_size = 4 << 20
};
static struct segments store;
static struct catalog catalog;
static struct built_image image;
static struct offload *offload;
static struct segment_maps all;
static struct image_map *map;
static struct segment_map *segment;
static uint8_t content[SIZE];
static const uint8_t *bytes; /* content, as it is mapped */
static unsigned nmapped;

static void mapped(struct image_map *v)
{
	nmapped++;
}

static void wait_threads(void)
{
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
}

static struct image_map *take(const struct built_image *b, uint64_t number)
{
	struct image_map *v;
	int fds[8];

	for (int i = 0; i < b->nfds; i++)
		fds[i] = dup(b->fds[i]);
	v = image_map_open(&all, number, fds, b->nfds, mapped, NULL);
	ck_assert_ptr_nonnull(v);
	for (nmapped = 0; nmapped == 0;)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	ck_assert_ptr_null(v->fault);
	return v;
}

static void add(const char *path, const void *data, size_t n)
{
	const struct file_id id = { .size = n };
	struct catalog_file *f = catalog_add(&catalog, catalog.roots[0].top, slice_str(path));
	struct etag etag;

	ck_assert_int_eq(etag_of_bytes(data, n, &etag), 0);
	ck_assert_int_eq(catalog_fill(&catalog, f, &id, true, &etag, data), 0);
}

UNIT_SETUP(setup)
{
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 7 + i / 251 + 1);
	offload = offload_new(&loop, 2);
	ck_assert_ptr_nonnull(offload);
	segment_maps_init(&all, offload);
	all.copied_max = SIZE;
	segments_init(&store, conf.max_size);
	store.size = IMAGE_SEGMENT_MAX;
	ck_assert_int_eq(catalog_init(&catalog, &conf, &store), 0);
	ck_assert_ptr_nonnull(catalog_add_dir(&catalog, 0, NULL, SLICE("/")));
	add("/file", content, SIZE);
	ck_assert_int_eq(image_build(&catalog, 0, 1, &image), 0);
	map = take(&image, 1);
	segment = map->segments[0];
	bytes = segment->bytes +
		image_map_find(map, 0, SLICE("/file"), clock_read_us() / 1000)->body.at;
	ck_assert_mem_eq(bytes, content, SIZE);
}

UNIT_TEARDOWN(teardown)
{
	image_map_retire(&map);
	wait_threads();
	ck_assert(list_empty(&all.all));
	segment_maps_fini(&all);
	offload_free(&offload);
	built_image_close(&image);
	catalog_fini(&catalog);
	segments_fini(&store);
	ck_assert_int_eq(counters->images, 0);
	ck_assert_int_eq(counters->held_bytes, 0);
	ck_assert_int_eq(counters->offload_jobs, 0);
}

/* So many references are held, and the image goes. */
static void orphan(unsigned references)
{
	for (unsigned i = 0; i < references; i++)
		ref_get(&segment->ref);
	image_map_retire(&map);
	wait_threads();
	ck_assert_int_eq(counters->images, references > 0);
}

/* What a lender answers for bytes first to last. */
static enum lender_answer needs(struct lender *l, size_t first, size_t last)
{
	return l->needs(l, &segment->ref, bytes + first, last - first);
}

static struct lender *due(void)
{
	return orphans_due(&all, clock_ms() + DUE);
}

static bool memfd_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024];
	bool found = false;

	while (fgets(line, sizeof(line), maps) != NULL)
		found |= strtoull(line, NULL, 16) <= (uintptr_t)bytes &&
			 strtoull(strchr(line, '-') + 1, NULL, 16) > (uintptr_t)bytes &&
			 strstr(line, "memfd") != NULL;
	fclose(maps);
	return found;
}

TEST(copied_where_they_are)
{
	static const uint8_t zeros[SEGMENT_MAP_PAGE];
	struct ref other = { .count = 1 };
	struct lender *l;

	orphan(3);
	ck_assert_ptr_null(orphans_due(&all, clock_ms() + ORPHAN_MS / 2));
	l = due();
	ck_assert_ptr_nonnull(l);
	ck_assert_int_eq(l->needs(l, &other, content, 1), LENDER_OTHER);
	ck_assert_int_eq(needs(l, 5000, 9000), LENDER_COPIES);
	ck_assert_int_eq(needs(l, 8999, 20000), LENDER_COPIES);
	ck_assert_int_eq(needs(l, SIZE, SIZE), LENDER_COPIES); /* it needs none */
	ck_assert(memfd_mapped());
	ck_assert_int_ge(segment->file.fd, 0);
	orphans_copy(&all);
	ck_assert_ptr_null(due());
	/* No socket is given the memfd any more, which a thread lets go of. */
	ck_assert_int_eq(segment->file.fd, -1);
	wait_threads();
	ck_assert(!memfd_mapped());
	ck_assert_int_eq(fcntl(segment->closing, F_GETFD), -1);
	ck_assert_int_eq(counters->images, 0);
	ck_assert_int_eq(counters->pieces_moved, 3);
	ck_assert_int_eq(counters->held_bytes, 4 * SEGMENT_MAP_PAGE);
	ck_assert_mem_eq(bytes + 5000, content + 5000, 15000);
	ck_assert_mem_eq(bytes + 100000, zeros, SEGMENT_MAP_PAGE);
	ck_assert_ptr_null(due());
	for (int i = 0; i < 3; i++)
		ref_put(&segment->ref);
	wait_threads();
}

TEST(whole_segment)
{
	struct lender *l;

	all.copied_max = UINT64_MAX;
	orphan(1);
	l = due();
	ck_assert_int_eq(needs(l, 0, SIZE), LENDER_COPIES);
	orphans_copy(&all);
	wait_threads();
	ck_assert_mem_eq(bytes, content, SIZE);
	ref_put(&segment->ref);
	wait_threads();
}

TEST(refused)
{
	struct lender *l;

	orphan(2);
	all.copied_max = 3 * SEGMENT_MAP_PAGE;
	l = due();
	ck_assert_int_eq(needs(l, 0, 100), LENDER_COPIES);
	ck_assert_int_eq(needs(l, 0, SIZE), LENDER_REFUSES);
	ck_assert_int_eq(counters->pieces_refused, 1);
	ref_put(&segment->ref);
	orphans_copy(&all);
	wait_threads();
	/* Not this time. */
	ck_assert(memfd_mapped());
	ck_assert_int_eq(counters->images, 1);
	ck_assert_int_eq(counters->held_bytes, 0);
	l = due();
	ck_assert_int_eq(needs(l, 0, 100), LENDER_COPIES);
	orphans_copy(&all);
	wait_threads();
	ck_assert_int_eq(counters->images, 0);
	ck_assert_mem_eq(bytes, content, 100);
	ref_put(&segment->ref);
	wait_threads();
}

TEST(comes_back)
{
	struct built_image next;

	orphan(1);
	ck_assert_int_eq(image_build(&catalog, 1, 2, &next), 0);
	map = take(&next, 2);
	ck_assert_ptr_eq(map->segments[0], segment);
	wait_threads();
	ck_assert_int_eq(counters->images, 0);
	ck_assert_ptr_null(due());
	/* And goes again. */
	image_map_retire(&map);
	ck_assert_ptr_nonnull(due());
	ref_put(&segment->ref);
	wait_threads();
	built_image_close(&next);
}

/* Once it was asked for, an image that has it maps it anew: nobody new reads from the copies. */
TEST_EACH(comes_back_too_late, 2)
{
	struct built_image next;
	struct lender *l;

	orphan(1);
	l = due();
	ck_assert_int_eq(needs(l, 0, 10), LENDER_COPIES);
	ck_assert_int_eq(image_build(&catalog, 1, 2, &next), 0);
	if (_i == 0)
		map = take(&next, 2);
	orphans_copy(&all);
	wait_threads();
	if (_i == 1)
		map = take(&next, 2);
	ck_assert_ptr_ne(map->segments[0], segment);
	ck_assert_ptr_ne(map->segments[0]->bytes, segment->bytes);
	ck_assert_mem_eq(map->segments[0]->bytes, segment->bytes, 10);
	ref_put(&segment->ref);
	image_map_retire(&map);
	wait_threads();
	built_image_close(&next);
}

TEST(no_memory)
{
	struct lender *l;

	orphan(1);
	no_mremap = true;
	l = due();
	ck_assert_int_eq(needs(l, 0, 10), LENDER_COPIES);
	orphans_copy(&all);
	wait_threads();
	no_mremap = false;
	ck_assert_int_eq(counters->images, 1);
	ck_assert_int_eq(counters->held_bytes, 0);
	ck_assert_mem_eq(bytes, content, SIZE);
	l = due();
	ck_assert_int_eq(needs(l, 0, 10), LENDER_COPIES);
	orphans_copy(&all);
	wait_threads();
	ck_assert_int_eq(counters->images, 0);
	ref_put(&segment->ref);
	wait_threads();
}

/* The worker's end is sooner than the thread's. */
TEST(end_meanwhile)
{
	struct lender *l;

	orphan(1);
	l = due();
	ck_assert_int_eq(needs(l, 0, 10), LENDER_COPIES);
	orphans_copy(&all);
	ref_put(&segment->ref);
	segment_maps_fini(&all);
	wait_threads();
}
