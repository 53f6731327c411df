/* check_image: image_build, image and image_map: what goes in comes out, and what is hostile is
 * refused. */

#include "base/clock.h"
#include "base/counters.h"
#include "files/files.h"
#include "image/memfd.h"
#include "image/segment_map.h"
#include "keeper/image_build.h"
#include "unit.h"

enum { FILES = 3000 };

static struct slice path_of(unsigned i, char buf[64])
{
	/* Lengths from 2 on, so that every tail of the hash is used. */
	return slice_of(buf,
		(size_t)snprintf(buf, 64, "/%.*s%u", (int)(i % 23), "abcdefghijklmnopqrstuvw", i));
}

static struct doc_root roots[2] = { { .root = "/a", .charset = "" },
	{ .root = "/b", .charset = "" } };
static struct doc_roots conf = {
	.roots = roots, .nroots = 2, .max_size = 1 << 20, .max_file_size = 1 << 16
};
static struct segments store;
static struct catalog catalog;

static void add(uint32_t root, struct slice path, const void *data, size_t n)
{
	const struct file_id file_id = { .size = n,
		.mtime_ns = 784111777 * INT64_C(1000000000) + 5 };
	struct catalog_file *f = catalog_add(&catalog, catalog.roots[root].top, path);
	struct etag etag;

	ck_assert_int_eq(etag_of_bytes(data, n, &etag), 0);
	ck_assert_int_eq(catalog_fill(&catalog, f, &file_id, true, &etag, data), 0);
}

static void begin(void)
{
	segments_init(&store, conf.max_size);
	ck_assert_int_eq(catalog_init(&catalog, &conf, &store), 0);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_ptr_nonnull(catalog_add_dir(&catalog, i, NULL, SLICE("/")));
}

/* Closes img, too. */
static void finish(struct built_image *img)
{
	built_image_close(img);
	catalog_fini(&catalog);
	segments_fini(&store);
}

/* In one segment, so that its bytes are known. */
static void make(struct built_image *img, uint64_t number)
{
	char buf[64];

	begin();
	store.size = IMAGE_SEGMENT_MAX;
	for (unsigned i = 0; i < FILES; i++)
		add(i & 1, path_of(i, buf), &i, i % 5);
	ck_assert_int_eq(image_build(&catalog, 0, number, img), 0);
	ck_assert_uint_eq(img->nentries, FILES);
}

static void *load(int fd, size_t *n)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *p = malloc((size_t)size);

	ck_assert_int_eq(pread(fd, p, (size_t)size, 0), size);
	*n = (size_t)size;
	return p;
}

TEST(finds_everything)
{
	struct built_image img;
	size_t n;
	struct image_head *h;
	char buf[64];

	make(&img, 7);
	ck_assert_int_eq(img.nfds, IMAGE_FDS + 1);
	h = load(img.fds[0], &n);
	for (unsigned i = 0; i < FILES; i++) {
		struct slice path = path_of(i, buf);
		const struct image_entry *e = image_find(h, i & 1, path);

		ck_assert_ptr_nonnull(e);
		ck_assert_uint_eq(e->body.n, i % 5);
		ck_assert_ptr_null(image_find(h, (i & 1) ^ 1, path));
		path.n--;
		e = image_find(h, i & 1, path);
		if (e != NULL)
			ck_assert_uint_eq(e->path.n, path.n);
	}
	ck_assert_mem_eq(image_entries(h)->last_modified, "Sun, 06 Nov 1994 08:49:37 GMT", 29);
	ck_assert_int_eq(image_entries(h)->mtime, 784111777);
	free(h);
	finish(&img);
}

TEST(is_sealed)
{
	struct built_image img;
	char name[40];

	make(&img, 1);
	for (int i = 0; i < img.nfds; i++) {
		if (i == 2)
			continue; /* life */
		ck_assert_int_gt(memfd_sealed_size(img.fds[i], i != 1), 0);
		ck_assert_int_eq(write(img.fds[i], "x", 1), -1);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", img.fds[i]);
		ck_assert_int_eq(truncate(name, 1), -1);
		ck_assert_ptr_eq(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, img.fds[i], 0),
			MAP_FAILED);
	}
	finish(&img);
}

/* Every byte of head and first entry, and every slot, with a wrong value: no crash, mostly a
 * refusal. */
TEST(hostile_index)
{
	struct built_image img;
	size_t n, nmarks;
	uint64_t sizes[1];
	unsigned refused = 0;
	uint8_t *index;
	void *marks;
	size_t end;
	char buf[64];

	make(&img, 7);
	index = load(img.fds[0], &n);
	marks = load(img.fds[1], &nmarks);
	sizes[0] = (uint64_t)lseek(img.fds[IMAGE_FDS], 0, SEEK_END);
	ck_assert_ptr_null(image_check(index, n, sizes, 1, marks, nmarks));
	ck_assert_ptr_nonnull(image_check(index, n - 1, sizes, 1, marks, nmarks));
	ck_assert_ptr_nonnull(image_check(index, 10, sizes, 1, marks, nmarks));
	ck_assert_ptr_nonnull(image_check(index, n, sizes, 0, marks, nmarks));
	ck_assert_ptr_nonnull(image_check(index, n, sizes, 1, marks, nmarks - 1));
	sizes[0]--;
	ck_assert_ptr_nonnull(image_check(index, n, sizes, 1, marks, nmarks));
	sizes[0]++;
	end = sizeof(struct image_head) + sizeof(struct image_entry);
	for (size_t i = 0; i < end; i++) {
		uint8_t old = index[i];

		index[i] ^= 0xff;
		if (image_check(index, n, sizes, 1, marks, nmarks) != NULL)
			refused++;
		else
			for (unsigned j = 0; j < 20; j++)
				image_find((void *)index, 0, path_of(j, buf));
		index[i] = old;
	}
	ck_assert_uint_gt(refused, 60);
	free(index);
	free(marks);
	finish(&img);
}

TEST(no_free_slot)
{
	struct built_image img;
	struct image_head *h;
	struct image_slot *slots;
	struct image_entry *e;
	size_t n, nmarks;
	uint64_t sizes[1];
	void *marks;

	make(&img, 7);
	h = load(img.fds[0], &n);
	marks = load(img.fds[1], &nmarks);
	sizes[0] = (uint64_t)lseek(img.fds[IMAGE_FDS], 0, SEEK_END);
	slots = (void *)(uintptr_t)image_slots(h);
	for (uint32_t i = 0; i < h->nslots; i++)
		slots[i].entry = 1;
	ck_assert_str_eq(image_check(h, n, sizes, 1, marks, nmarks), "no free slot");
	slots[0].entry = FILES + 1;
	ck_assert_str_eq(image_check(h, n, sizes, 1, marks, nmarks), "a slot out of bounds");
	/* Only what lay beside may be larger: keepers have memory for bodies of max-file-size. */
	e = (void *)(uintptr_t)image_entries(h);
	e->variants[0] = e->body;
	e->variants[0].n = e->body.n + 1;
	ck_assert_str_eq(
		image_check(h, n, sizes, 1, marks, nmarks), "a variant larger than its body");
	e->flags |= IMAGE_SIDECAR;
	ck_assert_str_eq(image_check(h, n, sizes, 1, marks, nmarks), "a slot out of bounds");
	free(h);
	free(marks);
	finish(&img);
}

/* --- image maps ------------------------------------------------------------------------------- */

static struct loop loop;
static struct offload *offload;
static struct segment_maps maps;
static unsigned nmapped;

static void mapped(struct image_map *v)
{
	nmapped++;
}

static struct image_map *open_map(const struct built_image *img, uint64_t number)
{
	int fds[8];
	struct image_map *v;

	for (int i = 0; i < img->nfds; i++)
		fds[i] = dup(img->fds[i]);
	v = image_map_open(&maps, number, fds, img->nfds, mapped, NULL);
	ck_assert_ptr_nonnull(v);
	nmapped = 0;
	while (nmapped == 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	return v;
}

static void start(void)
{
	ck_assert_int_eq(loop_init(&loop), 0);
	offload = offload_new(&loop, 2);
	ck_assert_ptr_nonnull(offload);
	segment_maps_init(&maps, offload);
}

static void stop(void)
{
	ck_assert(list_empty(&maps.all));
	segment_maps_fini(&maps);
	offload_free(&offload);
	loop_fini(&loop);
	ck_assert_int_eq(counters->images, 0);
	ck_assert_int_eq(counters->offload_jobs, 0);
}

TEST(map_fresh_and_stale)
{
	struct built_image img;
	struct image_map *v;
	char buf[64];
	struct slice path = path_of(4, buf);
	uint64_t now;

	start();
	make(&img, 9);
	now = img.marks->tick_ms;
	v = open_map(&img, 9);
	ck_assert_ptr_null(v->fault);
	ck_assert_ptr_nonnull(image_map_find(v, 0, path, now));
	/* A turn's clock may be older than the tick. */
	ck_assert_ptr_nonnull(image_map_find(v, 0, path, now - 5000));
	ck_assert_ptr_null(image_map_find(v, 0, path, now + 2000));
	img.marks->tick_ms = now + 2000;
	ck_assert_ptr_nonnull(image_map_find(v, 0, path, now + 2000));
	img.marks->stale[image_map_find(v, 0, path, now) - image_entries(v->index.head)] = 1;
	ck_assert_ptr_null(image_map_find(v, 0, path, now + 2000));
	ck_assert_ptr_nonnull(image_map_find(v, 0, path_of(6, buf), now + 2000));
	image_map_close(&v);
	finish(&img);
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	stop();
}

static unsigned mapped_segments(void)
{
	unsigned n = 0;

	LIST_EACH(struct segment_map, s, node, &maps.all)
		n++;
	return n;
}

/* What two images have in common is mapped once, and goes with the second of them. */
TEST(maps_share_segments)
{
	struct built_image img, next;
	struct image_map *v, *w;
	const struct image_entry *e;
	char buf[64];
	uint64_t now = clock_read_us() / 1000;

	start();
	make(&img, 9);
	v = open_map(&img, 9);
	add(0, SLICE("/new"), "new bytes", 9);
	ck_assert_int_eq(image_build(&catalog, 1, 10, &next), 0);
	w = open_map(&next, 10);
	ck_assert_ptr_null(w->fault);
	ck_assert_uint_eq(w->nsegments, 2);
	ck_assert_ptr_eq(w->segments[0], v->segments[0]);
	ck_assert_uint_eq(mapped_segments(), 2);
	image_map_retire(&v);
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	ck_assert_uint_eq(mapped_segments(), 2);
	e = image_map_find(w, 0, path_of(4, buf), now);
	ck_assert_mem_eq(w->segments[0]->bytes + e->body.at, &(unsigned){ 4 }, 4);
	image_map_close(&w);
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	ck_assert_uint_eq(mapped_segments(), 0);
	built_image_close(&next);
	finish(&img);
	stop();
}

TEST(map_refuses)
{
	struct built_image img, other;
	struct image_map *v;
	int fd;

	start();
	make(&img, 9);
	v = open_map(&img, 10);
	ck_assert_str_eq(v->fault, "not the announced number");
	image_map_close(&v);

	ck_assert_int_eq(image_build(&catalog, 1, 10, &other), 0);
	fd = img.fds[1];
	img.fds[1] = other.fds[1];
	v = open_map(&img, 9);
	ck_assert_str_eq(v->fault, "marks of another image");
	image_map_close(&v);
	img.fds[1] = fd;

	fd = img.fds[IMAGE_FDS];
	img.fds[IMAGE_FDS] = memfd_new("unsealed");
	v = open_map(&img, 9);
	ck_assert_str_eq(v->fault, "not sealed");
	image_map_close(&v);
	close(img.fds[IMAGE_FDS]);
	img.fds[IMAGE_FDS] = fd;
	ck_assert_ptr_null(image_map_open(&maps, 1, NULL, 0, mapped, NULL));
	built_image_close(&other);
	finish(&img);
	stop();
}
