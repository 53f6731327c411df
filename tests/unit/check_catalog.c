/*
 * check_catalog: what is known, found and forgotten; what lies beside; marks in every image alive.
 * calloc may fail (linked with --wrap).
 */
#include <sys/resource.h>

#include "base/clock.h"
#include "event/loop.h"
#include "keeper/image_build.h"
#include "keeper/scan.h"
#include "unit.h"

static struct doc_root roots[2] = { { .root = "/a", .charset = "utf-8", .precompressed = true },
	{ .root = "/b", .charset = "" } };
static struct doc_roots conf;
static struct segments store;
static struct catalog c;
static unsigned ngone, nrenewed, wanted;

static void gone(void *ctx, struct catalog_file *f)
{
	ngone++;
}

static void renewed(void *ctx, struct catalog_file *f)
{
	ck_assert(f->fresh);
	nrenewed++;
	wanted = catalog_wants(&c, f, 7);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static unsigned fail_at; /* the call of calloc that fails, counted from 1; 0: none does */

void *__wrap_calloc(size_t n, size_t size)
{
	return fail_at > 0 && --fail_at == 0 ? NULL : __real_calloc(n, size);
}

static unsigned npaused;

static void paused(void *ctx)
{
	npaused++;
}

UNIT_SETUP(setup)
{
	conf = (struct doc_roots){ .roots = roots,
		.nroots = 2,
		.max_size = 1 << 20,
		.max_file_size = 1 << 16,
		.codings = 7 };
	segments_init(&store, conf.max_size);
	ck_assert_int_eq(catalog_init(&c, &conf, &store), 0);
	c.gone = gone;
	c.renewed = renewed;
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_ptr_nonnull(catalog_add_dir(&c, i, NULL, SLICE("/")));
}

UNIT_TEARDOWN(teardown)
{
	catalog_fini(&c);
	segments_fini(&store);
}

static struct catalog_file *file(const char *path)
{
	return catalog_find(&c, 0, slice_str(path));
}

static struct catalog_file *add(const char *path)
{
	return catalog_add(&c, c.roots[0].top, slice_str(path));
}

static int fill_at(struct catalog_file *f, const char *text, int64_t mtime)
{
	const struct file_id file_id = {
		.size = strlen(text), .mtime_ns = mtime, .ino = f->at + 1
	};
	struct etag etag;

	ck_assert_int_eq(etag_of_bytes(text, strlen(text), &etag), 0);
	return catalog_fill(&c, f, &file_id, false, &etag, text);
}

static struct catalog_file *filled(const char *path, const char *text, int64_t mtime)
{
	struct catalog_file *f = file(path);

	if (f == NULL)
		f = add(path);
	ck_assert_int_eq(fill_at(f, text, mtime), 0);
	return f;
}

static struct segment_body *variant(const char *text)
{
	struct segment_body *b = NULL;
	struct etag etag = { .n = ETAG_CONTENT_LEN, .text = "\"{CCCCCCCCCCCC}\"" };

	ck_assert_int_eq(segments_put(&store, text, strlen(text), &etag, &b), 0);
	return b;
}

TEST(found_and_forgotten)
{
	struct catalog_dir *d = catalog_add_dir(&c, 0, c.roots[0].top, SLICE("/d/"));
	struct catalog_dir *e = catalog_add_dir(&c, 0, d, SLICE("/d/e/"));
	char path[32];

	/* Enough for the table to grow. */
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/d/e/f%d", i);
		ck_assert_ptr_nonnull(catalog_add(&c, i % 2 == 0 ? d : e, slice_str(path)));
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/d/e/f%d", i);
		ck_assert_str_eq(file(path)->path, path);
		ck_assert_ptr_null(catalog_find(&c, 1, slice_str(path)));
	}
	ck_assert_ptr_eq(catalog_find_dir(&c, 0, SLICE("/d/e/")), e);
	ck_assert_ptr_null(catalog_find_dir(&c, 0, SLICE("/d/e")));
	ck_assert_ptr_null(file("/d/e/"));
	for (int i = 0; i < 5000; i += 3) {
		snprintf(path, sizeof(path), "/d/e/f%d", i);
		catalog_remove(&c, file(path));
		ck_assert_ptr_null(file(path));
	}
	ck_assert_uint_eq(ngone, 1667);
	for (uint32_t i = 0; i < c.nfiles; i++)
		ck_assert_uint_eq(c.files[i]->at, i);
	c.pause = (struct pause){ .fn = paused };
	npaused = 0;
	catalog_remove_dir(&c, d);
	ck_assert_uint_eq(npaused, (5000 - 1667) / PAUSE_STEPS);
	ck_assert_uint_eq(c.nfiles, 0);
	ck_assert_uint_eq(c.names.n, 2);
	ck_assert_uint_eq(ngone, 5000);
}

TEST(marks_every_image)
{
	struct built_image img[3];
	struct catalog_file *a = filled("/a", "1", 1), *b = filled("/b", "1", 1);

	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(image_build(&c, i, 10 + i, &img[i]), 0);
	built_image_close(&img[1]);
	catalog_doubt(&c, a);
	for (unsigned i = 0; i < 3; i += 2) {
		ck_assert_uint_eq(img[i].marks->stale[a->in[i].at], 1);
		ck_assert_uint_eq(img[i].marks->stale[b->in[i].at], 0);
	}
	/* The next one is without it, until it is known again. */
	ck_assert_int_eq(image_build(&c, 1, 13, &img[1]), 0);
	ck_assert_uint_eq(img[1].nentries, 1);
	built_image_close(&img[1]);
	catalog_trust(&c, a, &a->file_id, true);
	ck_assert_int_eq(image_build(&c, 1, 14, &img[1]), 0);
	ck_assert_uint_eq(img[1].nentries, 2);
	ck_assert_uint_eq(img[1].marks->stale[a->in[1].at], 0);
	/* What goes is marked, and so is what comes again under its name. */
	catalog_remove(&c, b);
	ck_assert_uint_eq(img[1].marks->stale[0] + img[1].marks->stale[1], 1);
	for (unsigned i = 0; i < 3; i++)
		built_image_close(&img[i]);
	ck_assert_uint_eq(store.n, 1);
}

TEST(same_bytes_keep_variants)
{
	struct catalog_file *f = filled("/a.css", "p{color:red}", 1);
	struct segment_body *body = f->body;

	catalog_set_variant(&c, f, CODING_BR, variant("br"));
	ck_assert_uint_eq(c.content, 14);
	catalog_doubt(&c, f);
	filled("/a.css", "p{color:red}", 2);
	ck_assert_ptr_eq(f->body, body);
	ck_assert_ptr_nonnull(f->variants[CODING_BR]);
	ck_assert_int_eq(f->file_id.mtime_ns, 2);
	f->tried = 7;
	filled("/a.css", "p{color:tan}", 3);
	ck_assert_ptr_null(f->variants[CODING_BR]);
	ck_assert_uint_eq(f->tried, 0);
	ck_assert_uint_eq(c.content, 12);
}

static void wants(void *ctx, struct catalog_file *f)
{
	variants_want(ctx, f);
}

static void lets_go(void *ctx, struct catalog_file *f)
{
	variants_gone(ctx, f);
}

/* A file that waits to be compressed is found changed, and there is no room for what it is now. */
TEST(body_lost_while_it_waits)
{
	char text[1001] = "";
	struct loop loop;
	struct variants v;
	struct catalog_file *f;

	memset(text, 'x', 1000);
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(variants_init(&v, &c, &loop, 1), 0);
	v.codings = conf.codings;
	c.renewed = wants;
	c.gone = lets_go;
	c.ctx = &v;
	f = filled("/a.css", "p{color:red}", 1);
	ck_assert_uint_eq(v.waiting, 1);
	conf.max_size = 1;
	ck_assert_int_eq(fill_at(f, text, 2), -ENOSPC);
	ck_assert_ptr_null(f->body);
	variants_step(&v);
	ck_assert_uint_eq(variants_pending(&v), 0);
	catalog_remove(&c, f);
	variants_fini(&v);
	loop_fini(&loop);
}

/* A root, or a location of it, may admit no variant. */
TEST(refused_codings)
{
	static const struct prefix_entry parts[] = { { .prefix = SLICE_LIT("/"), .of = 1 },
		{ .prefix = SLICE_LIT("/off"), .of = 7, .outer = 1 } };
	struct catalog_file *f = filled("/a.css", "p{color:red}", 1);

	roots[0].refused_codings = 3;
	ck_assert_uint_eq(catalog_wants(&c, f, 7), 4);
	roots[0].parts = (struct prefix_index){ parts, 2 };
	ck_assert_uint_eq(catalog_wants(&c, f, 7), 6);
	ck_assert_uint_eq(catalog_wants(&c, filled("/offside.css", "p{color:red}", 1), 7), 6);
	ck_assert_uint_eq(catalog_wants(&c, filled("/off", "p{color:red}", 1), 7), 0);
	roots[0].refused_codings = 0;
	roots[0].parts.n = 0;
}

/* Behind a rest one file is compressed, however dear, and the next when their share has paid for
 * it. */
TEST(uploads_have_a_share)
{
	static char text[1 << 16];
	struct catalog_dir *dir = catalog_add_dir(&c, 0, c.roots[0].top, SLICE("/up/"));
	struct loop loop;
	struct variants v;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + (i * i >> 5) % 7);
	dir->uploads = true;
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(variants_init(&v, &c, &loop, 8), 0);
	v.codings = 1 << CODING_GZIP;
	for (const char *p = "/up/a.css\0/up/b.css\0/up/c.css\0"; *p != '\0'; p += strlen(p) + 1) {
		struct catalog_file *f = catalog_add(&c, dir, slice_str(p));

		ck_assert_int_eq(fill_at(f, text, 1), 0);
		variants_want(&v, f);
	}
	variants_step(&v);
	ck_assert_uint_eq(v.running, 1);
	v.allowance_us = -100000000;
	while (v.running > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	ck_assert(v.resting);
	ck_assert_uint_eq(v.waiting, 2);
	v.allowance_us = -1000;
	for (unsigned ms = 0; ms <= VARIANTS_UPLOADS_SHARE + 1; ms++) {
		ck_assert_uint_eq(v.running, ms > VARIANTS_UPLOADS_SHARE);
		clock_set((v.allowed_ms + 1) * 1000, (struct timespec){ 0 });
		variants_step(&v);
	}
	while (variants_pending(&v) > 0) {
		clock_set(clock_us() + 1000000, (struct timespec){ 0 });
		variants_step(&v);
		loop_turn(&loop, 1000);
	}
	ck_assert_ptr_nonnull(file("/up/c.css")->variants[CODING_GZIP]);
	variants_fini(&v);
	loop_fini(&loop);
}

/* A segment that cannot be made is no want of room, which only an image that goes could give. */
TEST(no_descriptors_for_a_variant)
{
	char text[2001] = "";
	struct rlimit few = { 3, 0 }, before;
	struct loop loop;
	struct variants v;
	struct catalog_file *f;

	memset(text, 'x', 2000);
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(variants_init(&v, &c, &loop, 1), 0);
	v.codings = 1 << CODING_GZIP;
	f = filled("/a.css", text, 1);
	segments_seal(&store); /* the next body is one of another segment */
	variants_want(&v, f);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few.rlim_max = before.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	variants_step(&v);
	while (v.running > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert(v.starved && !v.stuck);
	ck_assert_uint_eq(v.waiting, 1);
	variants_step(&v);
	while (variants_pending(&v) > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	ck_assert_ptr_nonnull(f->variants[CODING_GZIP]);
	variants_fini(&v);
	loop_fini(&loop);
}

TEST(past_max_size)
{
	char text[1001] = "";
	struct catalog_file *f = add("/a");

	memset(text, 'x', 1000);
	conf.max_size = 1500 + 2 * catalog_index_room(2);
	ck_assert_int_eq(fill_at(f, text, 1), 0);
	ck_assert_int_eq(fill_at(add("/b"), text, 1), -ENOSPC);
	ck_assert(!file("/b")->fresh);
	text[0] = 'y';
	ck_assert_int_eq(fill_at(f, text, 2), 0);
	ck_assert_uint_eq(c.content, 1000);
	ck_assert_uint_eq(c.nfresh, 1);
}

/* Small bodies take more than their bytes: there is an end, and no waiting for what never comes. */
TEST(past_max_size_in_small_pieces)
{
	char name[16];
	int rc = 0;

	conf.max_size = 90 * (64 + catalog_index_room(3)) + 10 * (64 + catalog_index_room(2)) +
			catalog_index_room(4);
	segments_fini(&store);
	segments_init(&store, conf.max_size);
	for (int i = 0; rc == 0 && i < 1000; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		rc = fill_at(add(name), "x", 1);
	}
	ck_assert_int_eq(rc, -ENOSPC);
	ck_assert_uint_eq(c.content, 100);
	ck_assert_uint_eq(c.room + c.index_room, conf.max_size);
	ck_assert_uint_ge(store.index_next, 100 * catalog_index_room(2));
	ck_assert_uint_lt(store.index_next, c.index_room); /* the last has no body */
	/* Names take room as well, and give it back. */
	for (uint32_t i = c.nfiles; i > 0; i--)
		catalog_remove(&c, c.files[i - 1]);
	ck_assert_uint_eq(c.room + c.index_room + store.index_next, 0);
}

TEST(beside)
{
	struct built_image img;
	struct catalog_file *f, *br;

	br = filled("/a.css.br", "coded", 5);
	f = filled("/a.css", "p{}", 5);
	ck_assert_uint_eq(f->beside, 1 << CODING_BR);
	/* Of the same time is not older. */
	ck_assert_uint_eq(catalog_unread(&c, f), 0);
	ck_assert_ptr_eq(catalog_sidecar(&c, f, CODING_BR), br);
	ck_assert_ptr_null(catalog_sidecar(&c, f, CODING_GZIP));
	ck_assert_uint_eq(catalog_wants(&c, f, 7), 1 << CODING_ZSTD | 1 << CODING_GZIP);
	ck_assert_int_eq(image_build(&c, 0, 1, &img), 0);

	/* It changed: whoever asks for either asks the disk; nobody compresses before it is known.
	 */
	catalog_doubt(&c, br);
	ck_assert_uint_eq(img.marks->stale[f->in[0].at] + img.marks->stale[br->in[0].at], 2);
	ck_assert_ptr_null(catalog_sidecar(&c, f, CODING_BR));
	ck_assert_uint_eq(catalog_unread(&c, f), 1 << CODING_BR);
	ck_assert_uint_eq(catalog_wants(&c, f, 1 << CODING_BR), 0);
	built_image_close(&img);
	/* Older than what it lies beside: of no use. */
	filled("/a.css.br", "coded", 4);
	ck_assert_ptr_null(catalog_sidecar(&c, f, CODING_BR));
	ck_assert_uint_eq(catalog_wants(&c, f, 1 << CODING_BR), 1 << CODING_BR);
	filled("/a.css.br", "coded", 6);
	ck_assert_ptr_eq(catalog_sidecar(&c, f, CODING_BR), br);
	/* An empty one is about to be written. */
	filled("/a.css.br", "", 6);
	ck_assert_ptr_null(catalog_sidecar(&c, f, CODING_BR));
	ck_assert_uint_eq(catalog_wants(&c, f, 1 << CODING_BR), 1 << CODING_BR);
	filled("/a.css.br", "other", 6);
	ck_assert_ptr_eq(catalog_sidecar(&c, f, CODING_BR), br);

	/* It goes, and another comes. */
	ck_assert_int_eq(image_build(&c, 0, 2, &img), 0);
	nrenewed = 0;
	f->tried = 7;
	catalog_remove(&c, br);
	ck_assert_uint_eq(img.marks->stale[f->in[0].at], 1);
	ck_assert_uint_eq(f->beside, 0);
	ck_assert_uint_ge(nrenewed, 1);
	ck_assert_uint_eq(wanted, 1 << CODING_BR);
	built_image_close(&img);
	ck_assert_int_eq(image_build(&c, 0, 3, &img), 0);
	add("/a.css.gz");
	ck_assert_uint_eq(img.marks->stale[f->in[0].at], 1);
	ck_assert_uint_eq(catalog_wants(&c, f, 1 << CODING_GZIP), 0);
	built_image_close(&img);
	/* What is no text has no variants, whatever lies there. */
	f = filled("/p.png", "png", 1);
	filled("/p.png.br", "png", 1);
	ck_assert_ptr_null(catalog_sidecar(&c, f, CODING_BR));
	ck_assert_uint_eq(catalog_wants(&c, f, 7), 0);
	/* The other root has precompressed = false. */
	for (int i = 0; i < 2; i++) {
		f = catalog_add(&c, c.roots[1].top, i ? SLICE("/a.css") : SLICE("/a.css.br"));
		ck_assert_int_eq(fill_at(f, "q{}", 1), 0);
	}
	ck_assert_uint_eq(f->beside, 0);
	ck_assert_ptr_null(catalog_sidecar(&c, f, CODING_BR));
	ck_assert_uint_eq(catalog_wants(&c, f, 7), 7);
}

TEST(in_the_image)
{
	struct built_image img;
	struct image_head *h;
	const struct image_entry *e;
	struct catalog_file *f = filled("/a.css", "p{color:red}", 1);
	off_t size;

	filled("/a.css.gz", "gz", 2);
	catalog_set_variant(&c, f, CODING_BR, variant("br"));
	f->tried = 1 << CODING_BR | 1 << CODING_ZSTD;
	f->settled = true;
	filled("/b.png", "png", 1);
	ck_assert_int_eq(image_build(&c, 0, 1, &img), 0);
	size = lseek(img.fds[0], 0, SEEK_END);
	h = malloc((size_t)size);
	ck_assert_int_eq(pread(img.fds[0], h, (size_t)size, 0), size);
	e = image_find(h, 0, SLICE("/a.css"));
	ck_assert_uint_eq(e->flags, IMAGE_VARIES | IMAGE_SETTLED | IMAGE_SIDECAR << CODING_GZIP |
					    IMAGE_TRIED << CODING_BR | IMAGE_TRIED << CODING_ZSTD);
	ck_assert_uint_eq(e->variants[CODING_BR].n, 2);
	ck_assert_uint_eq(e->variants[CODING_ZSTD].n, 0);
	ck_assert_uint_eq(e->variants[CODING_GZIP].n, 2);
	ck_assert_mem_eq(e->variants[CODING_GZIP].etag, file("/a.css.gz")->body->etag, IMAGE_ETAG);
	ck_assert_uint_eq(e->type.n, strlen("text/css; charset=utf-8"));
	ck_assert_uint_eq(image_find(h, 0, SLICE("/b.png"))->flags, 0);
	/* Variants count, what lies beside counts for itself. */
	ck_assert_uint_eq(img.content, 12 + 2 + 2 + 3);
	free(h);
	built_image_close(&img);
}

/* Roots that were not opened yet are not closed: descriptor 0 stays. */
TEST(no_memory)
{
	struct catalog poor;
	int fd = open("/dev/null", O_RDONLY);

	ck_assert_int_eq(dup2(fd, 0), 0);
	for (unsigned call = 1; call <= 2; call++) {
		fail_at = call;
		ck_assert_int_eq(catalog_init(&poor, &conf, &store), -ENOMEM);
		ck_assert_int_ge(fcntl(0, F_GETFD), 0);
	}
	if (fd > 0)
		close(fd);
}
