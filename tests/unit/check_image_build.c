/* check_image_build: scan and reader: all of a tree, nothing that leaves it, nothing that is no
 * file; and what changed. */
#include <linux/magic.h>
#include <sys/vfs.h>

#include "image_build_unit.h"
#include "keeper/keeper.h"
#include "unit.h"

static struct doc_root roots[2];
static struct doc_roots conf;
static struct unit_build b;
static uint64_t number;

static void configure(uint64_t max_size, uint64_t max_file)
{
	roots[0] = (struct doc_root){ .root = "", .charset = "" };
	roots[1] = (struct doc_root){ .root = tree, .charset = "utf-8", .precompressed = true };
	conf = (struct doc_roots){
		.roots = roots,
		.nroots = 2,
		.max_size = max_size,
		.max_file_size = max_file,
	};
}

static void build_with(uint64_t max_size, uint64_t max_file, struct built_image *img)
{
	configure(max_size, max_file);
	unit_build_start(&b, &conf);
	unit_build_work(&b);
	ck_assert_int_eq(image_build(&b.catalog, 0, ++number, img), 0);
}

static void stop(struct built_image *img)
{
	built_image_close(img);
	unit_build_stop(&b);
}

static struct image_head *index_of(const struct built_image *img)
{
	off_t size = lseek(img->fds[0], 0, SEEK_END);
	struct image_head *h = malloc((size_t)size);

	ck_assert_int_eq(pread(img->fds[0], h, (size_t)size, 0), size);
	return h;
}

static const struct image_entry *find(const struct image_head *h, const char *path)
{
	return image_find(h, 1, slice_str(path));
}

static void expect(const struct built_image *img, const struct image_head *h, const char *path,
	const char *content, const char *type)
{
	const struct image_entry *e = find(h, path);
	char data[256];

	ck_assert_msg(e != NULL, "%s is missing", path);
	ck_assert_uint_eq(e->body.n, strlen(content));
	ck_assert_int_eq(pread(img->fds[IMAGE_FDS + e->body.segment], data, e->body.n, e->body.at),
		e->body.n);
	ck_assert_mem_eq(data, content, e->body.n);
	ck_assert(slice_eq(slice_of(image_strings(h) + e->type.at, e->type.n), slice_str(type)));
}

TEST(whole_tree)
{
	struct built_image img;
	struct image_head *h;

	tree_text("index.html", "<p>hello");
	tree_text("empty", "");
	tree_text(".hidden", "not for everybody");
	tree_dir(".well-known");
	tree_text(".well-known/security.txt", "mailto:");
	tree_dir(".git");
	tree_text(".git/config", "secret");
	tree_text("caf\xc3\xa9 & \"\xff.txt", "odd");
	tree_dir("a");
	tree_dir("a/b");
	tree_text("a/b/c.css", "p{}");
	build_with(1 << 20, 1 << 16, &img);
	ck_assert_uint_eq(img.nentries, 5);
	h = index_of(&img);
	expect(&img, h, "/index.html", "<p>hello", "text/html; charset=utf-8");
	expect(&img, h, "/empty", "", "application/octet-stream");
	expect(&img, h, "/.well-known/security.txt", "mailto:", "text/plain; charset=utf-8");
	expect(&img, h, "/caf\xc3\xa9 & \"\xff.txt", "odd", "text/plain; charset=utf-8");
	expect(&img, h, "/a/b/c.css", "p{}", "text/css; charset=utf-8");
	ck_assert_ptr_null(image_find(h, 0, SLICE("/index.html")));
	ck_assert_ptr_null(find(h, "/a"));
	ck_assert_ptr_null(find(h, "/"));
	free(h);
	stop(&img);
}

/* Where a link leads may change unseen: the disk answers for it. */
TEST(links)
{
	struct built_image img;
	struct image_head *h;

	tree_dir("a");
	tree_text("a/file.txt", "x");
	tree_link("a/file.txt", "within.txt");
	tree_link("../a/file.txt", "a/through.txt");
	tree_link("/etc/passwd", "absolute");
	tree_link("a", "dirlink");
	tree_link("..", "up");
	tree_link("loop", "loop");
	build_with(1 << 20, 1 << 16, &img);
	h = index_of(&img);
	expect(&img, h, "/a/file.txt", "x", "text/plain; charset=utf-8");
	ck_assert_uint_eq(img.nentries, 1);
	free(h);
	stop(&img);
}

TEST(no_files)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct built_image img;
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A FIFO without a writer would hold open() for ever. */
	ck_assert_int_eq(mkfifo(tree_path("fifo"), 0644), 0);
	tree_link("fifo", "fifo.link");
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%.100s", tree_path("sock"));
	ck_assert_int_eq(bind(s, (struct sockaddr *)&sun, sizeof(sun)), 0);
	close(s);
	tree_dir("empty");
	build_with(1 << 20, 1 << 16, &img);
	ck_assert_uint_eq(img.nentries, 0);
	ck_assert_int_eq(img.nfds, IMAGE_FDS);
	stop(&img);
}

TEST(unreadable)
{
	struct built_image img;

	tree_text("secret", "x");
	tree_text("open", "x");
	tree_dir("shut");
	tree_text("shut/in", "x");
	ck_assert_int_eq(chmod(tree_path("secret"), 0), 0);
	ck_assert_int_eq(chmod(tree_path("shut"), 0), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(chmod(tree, 0755) | seteuid(65534), 0);
	build_with(1 << 20, 1 << 16, &img);
	ck_assert_uint_eq(img.nentries, 1);
	/* The descriptors are for those of the same user. */
	ck_assert_int_gt(lseek(img.fds[0], 0, SEEK_END), 0);
	/* The root itself, from now on. */
	ck_assert(!scan_root_moved(&b.scan, 1));
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0) | chmod(tree, 0) | seteuid(65534), 0);
	else
		ck_assert_int_eq(chmod(tree, 0), 0);
	ck_assert(scan_root_moved(&b.scan, 1));
	stop(&img);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(tree, 0755) | chmod(tree_path("shut"), 0700), 0);
}

TEST(sizes)
{
	struct built_image img;
	struct image_head *h;
	char *data = tree_bytes(4000, 1);

	tree_write("fits", data, 1000);
	tree_write("large", data, 1001);
	build_with(1 << 20, 1000, &img);
	h = index_of(&img);
	ck_assert_ptr_nonnull(find(h, "/fits"));
	ck_assert_ptr_null(find(h, "/large"));
	free(h);
	stop(&img);

	tree_dir("deep");
	tree_write("deep/more", data, 4000);
	/* Near the root first: those two, not the deep one. */
	build_with(4000, 4000, &img);
	h = index_of(&img);
	ck_assert_ptr_nonnull(find(h, "/fits"));
	ck_assert_ptr_nonnull(find(h, "/large"));
	ck_assert_uint_eq(img.content, 2001);
	free(h);
	free(data);
	stop(&img);
}

TEST(many_files)
{
	struct built_image img;
	char name[64];
	uint64_t start;

	for (int d = 0; d < 20; d++) {
		snprintf(name, sizeof(name), "d%d", d);
		tree_dir(name);
		for (int i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "d%d/f%d.html", d, i);
			tree_text(name, name);
		}
	}
	start = clock_read_us();
	build_with(1 << 20, 1 << 16, &img);
	fprintf(stderr, "%u files in %llu us\n", img.nentries,
		(unsigned long long)(clock_read_us() - start));
	ck_assert_uint_eq(img.nentries, 2000);
	stop(&img);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void change(enum tree_change what, const char *path)
{
	backlog_apply(&b.scan, what, 1, path);
}

/* What is not read at once is read when its time has come. */
static void work_later(unsigned ms)
{
	clock_set((clock_ms() + ms) * 1000, clock_wall());
	scan_roots(&b.scan);
	reader_wait(&b.reader);
	while (reader_step(&b.reader) || scan_step(&b.scan))
		;
}

static struct catalog_file *file(const char *path)
{
	return catalog_find(&b.catalog, 1, slice_str(path));
}

static bool is_stale(const struct built_image *img, const struct image_head *h, const char *path)
{
	return img->marks->stale[find(h, path) - image_entries(h)] != 0;
}

TEST(edited)
{
	struct built_image img, next;
	struct image_head *h;

	tree_text("a.txt", "one");
	tree_text("b.txt", "other");
	build_with(1 << 20, 1 << 16, &img);
	h = index_of(&img);
	tree_text("a.txt", "two!");
	change(TREE_FILE, "/a.txt");
	ck_assert(is_stale(&img, h, "/a.txt"));
	ck_assert(!is_stale(&img, h, "/b.txt"));
	ck_assert(!file("/a.txt")->fresh);
	ck_assert_uint_eq(reader_pending(&b.reader), 1);
	work_later(0);
	ck_assert(!file("/a.txt")->fresh);
	work_later(50);
	ck_assert(file("/a.txt")->fresh);
	ck_assert_int_eq(image_build(&b.catalog, 1, ++number, &next), 0);
	free(h);
	h = index_of(&next);
	expect(&next, h, "/a.txt", "two!", "text/plain; charset=utf-8");
	expect(&next, h, "/b.txt", "other", "text/plain; charset=utf-8");
	/* Only what changed has bytes in a new segment. */
	ck_assert_int_eq(next.nfds, IMAGE_FDS + 1 + 1);
	free(h);
	built_image_close(&next);
	stop(&img);
}

/* Until it is read nobody knows what lies beside: the disk answers, not an image without it. */
TEST(sidecar_to_be_read)
{
	struct built_image img, next;
	struct image_head *h;

	tree_text("a.css", "one");
	tree_text("a.png", "two");
	build_with(1 << 20, 1 << 16, &img);
	tree_text("a.css.gz", "beside");
	change(TREE_FILE, "/a.css.gz");
	tree_text("a.png.gz", "not of this type");
	change(TREE_FILE, "/a.png.gz");
	ck_assert_int_eq(image_build(&b.catalog, 1, ++number, &next), 0);
	h = index_of(&next);
	ck_assert(is_stale(&next, h, "/a.css"));
	ck_assert(!is_stale(&next, h, "/a.png"));
	free(h);
	built_image_close(&next);
	work_later(50);
	ck_assert_int_eq(image_build(&b.catalog, 1, ++number, &next), 0);
	h = index_of(&next);
	ck_assert(!is_stale(&next, h, "/a.css"));
	ck_assert_uint_eq(find(h, "/a.css")->variants[CODING_GZIP].n, 6);
	free(h);
	built_image_close(&next);
	stop(&img);
}

static struct backlog backlog;
static unsigned nfresh_midway;

static void in_the_middle(void *ctx)
{
	backlog.midway = true;
	backlog_change(&backlog, TREE_FILE, 1, "/a.css");
	backlog_change(&backlog, TREE_FILE, 1, "/new");
	backlog_change(&backlog, TREE_FILE, 1, "/b.css.gz");
	backlog_change(&backlog, TREE_DIR, 1, "/d/");
	nfresh_midway = b.catalog.nfresh;
	backlog.midway = false;
}

/* What changes while an image is made is marked at once, and known when it is made. */
TEST(changes_in_a_long_step)
{
	struct built_image img, next;
	struct image_head *h;

	tree_text("a.css", "one");
	tree_text("b.css", "two");
	tree_text("c.css", "three");
	tree_dir("d");
	tree_text("d/x", "x");
	build_with(1 << 20, 1 << 16, &img);
	h = index_of(&img);
	backlog_init(&backlog, &b.scan);
	b.catalog.pause = (struct pause){ .fn = in_the_middle, .steps = PAUSE_STEPS - 1 };
	ck_assert_int_eq(image_build(&b.catalog, 1, ++number, &next), 0);
	b.catalog.pause.fn = NULL;
	ck_assert_uint_eq(nfresh_midway, 4);
	ck_assert_uint_eq(b.catalog.nfiles, 4);
	ck_assert(is_stale(&img, h, "/a.css"));
	ck_assert(is_stale(&img, h, "/b.css"));
	ck_assert(!is_stale(&img, h, "/c.css"));
	ck_assert(is_stale(&img, h, "/d/x"));
	free(h);
	backlog_flush(&backlog);
	h = index_of(&next);
	ck_assert(is_stale(&next, h, "/a.css"));
	ck_assert(is_stale(&next, h, "/b.css"));
	ck_assert(!is_stale(&next, h, "/c.css"));
	ck_assert(is_stale(&next, h, "/d/x"));
	ck_assert(!file("/a.css")->fresh);
	ck_assert_ptr_nonnull(file("/new"));
	free(h);
	built_image_close(&next);
	stop(&img);
}

/* More of them than it keeps: everything may have changed. */
TEST(changes_past_all_memory)
{
	struct built_image img;
	struct image_head *h;

	tree_text("a.css", "one");
	build_with(1 << 20, 1 << 16, &img);
	h = index_of(&img);
	backlog_init(&backlog, &b.scan);
	backlog.midway = true;
	while (!backlog.lost)
		backlog_change(&backlog, TREE_FILE, 1, "/another");
	ck_assert(is_stale(&img, h, "/a.css"));
	ck_assert_uint_le(backlog.changes.n, 2 * BACKLOG_MAX);
	backlog.midway = false;
	ck_assert(file("/a.css")->fresh);
	backlog_change(&backlog, TREE_FILE, 1, "/another");
	ck_assert(!file("/a.css")->fresh);
	ck_assert(!backlog.lost);
	free(h);
	backlog_fini(&backlog);
	stop(&img);
}

TEST(comes_and_goes)
{
	struct built_image img;
	struct image_head *h;

	tree_text("a.txt", "one");
	build_with(1 << 20, 1 << 16, &img);
	h = index_of(&img);
	tree_text("new.txt", "new");
	change(TREE_FILE, "/new.txt");
	tree_dir("d");
	tree_text("d/in.txt", "in");
	change(TREE_DIR, "/d/");
	work_later(50);
	ck_assert(file("/new.txt")->fresh);
	ck_assert(file("/d/in.txt")->fresh);
	ck_assert_int_eq(unlink(tree_path("a.txt")), 0);
	change(TREE_FILE, "/a.txt");
	ck_assert(is_stale(&img, h, "/a.txt"));
	work_later(50);
	ck_assert_ptr_null(file("/a.txt"));
	ck_assert_int_eq(rename(tree_path("d"), tree_path("e")), 0);
	change(TREE_DIR, "/d/");
	change(TREE_DIR, "/e/");
	ck_assert(!file("/d/in.txt")->fresh);
	work_later(50);
	ck_assert_ptr_null(file("/d/in.txt"));
	ck_assert_ptr_null(catalog_find_dir(&b.catalog, 1, SLICE("/d/")));
	ck_assert(file("/e/in.txt")->fresh);
	/* Where nothing is known, and what is hidden. */
	change(TREE_FILE, "/nowhere/x");
	change(TREE_DIR, "/nowhere/x/");
	change(TREE_FILE, "/.x");
	change(TREE_FILE, "/gone");
	work_later(50);
	ck_assert_uint_eq(b.catalog.nfiles, 2);
	ck_assert_uint_eq(scan_pending(&b.scan) + reader_pending(&b.reader), 0);
	free(h);
	stop(&img);
}

/* A rescan finds what no watch told, and reads nothing else. */
TEST(rescan)
{
	struct built_image img;
	struct image_head *h;
	struct segment_body *before;

	tree_text("a.txt", "one");
	tree_text("b.txt", "one");
	tree_text("gone.txt", "gone");
	tree_dir("d");
	tree_text("d/x", "x");
	build_with(1 << 20, 1 << 16, &img);
	h = index_of(&img);
	before = file("/b.txt")->body;
	tree_text("a.txt", "two!");
	tree_text("new.txt", "new");
	ck_assert_int_eq(unlink(tree_path("gone.txt")), 0);
	ck_assert_int_eq(unlink(tree_path("d/x")) | rmdir(tree_path("d")), 0);
	scan_all(&b.scan);
	unit_build_work(&b);
	ck_assert(is_stale(&img, h, "/a.txt"));
	ck_assert(is_stale(&img, h, "/gone.txt"));
	ck_assert(is_stale(&img, h, "/d/x"));
	ck_assert(!is_stale(&img, h, "/b.txt"));
	ck_assert(file("/a.txt")->fresh);
	ck_assert(file("/new.txt")->fresh);
	ck_assert_ptr_eq(file("/b.txt")->body, before);
	ck_assert_uint_eq(b.catalog.nfiles, 3);
	free(h);
	stop(&img);
}

/* Read within two seconds of its last change: read again, once; then its file_id is enough. */
TEST(settles)
{
	struct built_image img;
	struct timespec wall;

	tree_text("a.txt", "one");
	build_with(1 << 20, 1 << 16, &img);
	ck_assert(!file("/a.txt")->settled);
	ck_assert_uint_eq(b.reader.n[READER_SETTLE], 1);
	wall = clock_wall();
	wall.tv_sec += 3;
	clock_set((clock_ms() + 3000) * 1000, wall);
	reader_wait(&b.reader);
	while (reader_step(&b.reader))
		;
	ck_assert(file("/a.txt")->settled);
	ck_assert_uint_eq(b.reader.n[READER_SETTLE], 0);
	/* Touched, and the same bytes: only the time is new. */
	tree_date("a.txt", 784111777);
	change(TREE_FILE, "/a.txt");
	work_later(50);
	ck_assert(file("/a.txt")->fresh);
	ck_assert_int_eq(file_id_mtime(&file("/a.txt")->file_id), 784111777);
	ck_assert_uint_eq(b.segments.n, 1);
	stop(&img);
}

/* What will not hold still is read less and less often. */
TEST(restless)
{
	struct built_image img;
	unsigned reads = 0;
	char text[32];

	tree_text("a.txt", "one");
	build_with(1 << 20, 1 << 16, &img);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "version %d", i);
		tree_text("a.txt", text);
		change(TREE_FILE, "/a.txt");
		work_later(5);
		reads += file("/a.txt")->fresh;
	}
	/* 5 s of it; 20 ms, 40, … 2560 are twice that. */
	ck_assert_uint_ge(reads, 5);
	ck_assert_uint_le(reads, 10);
	work_later(2560);
	ck_assert(file("/a.txt")->fresh);
	ck_assert_uint_eq(file("/a.txt")->body->n, strlen("version 999"));
	stop(&img);
}

/* A file of several pieces, which is open and read in part. */
static void begin_to_read(const char *path)
{
	change(TREE_FILE, path);
	clock_set((clock_ms() + 3000) * 1000, clock_wall());
	reader_wait(&b.reader);
	while (b.reader.file != file(path))
		ck_assert(reader_step(&b.reader));
}

static void list_all(void)
{
	while (scan_step(&b.scan))
		;
}

static void expect_what_is_there(const char *path, const char *name)
{
	struct file_id now;
	struct stat st;

	ck_assert_int_eq(stat(tree_path(name), &st), 0);
	now = file_id_of(&st);
	ck_assert(!file(path)->fresh || file_id_eq(&file(path)->file_id, &now));
}

/*
 * What is open is the file of the directory that was there: it does not change, and is none of the
 * new one's. Told by a watch, by an overflow, or by nobody.
 */
TEST(another_directory_while_it_is_read)
{
	const enum tree_change told[] = { TREE_DIR, TREE_LOST, TREE_ROOT };
	char *data = tree_bytes(3 << 20, 1);
	struct built_image img;

	tree_dir("d");
	tree_dir("e");
	tree_write("d/f", "x", 1);
	build_with(16 << 20, 4 << 20, &img);
	for (int told_by = 0; told_by < 4; told_by++) {
		for (int listed_first = 0; listed_first < 2; listed_first++) {
			data[0]++;
			tree_write("d/f", data, 3 << 20);
			data[0]++;
			tree_write("e/f", data, 3 << 20);
			begin_to_read("/d/f");
			ck_assert_int_eq(renameat2(AT_FDCWD, tree_path("d"), AT_FDCWD,
						 tree_path("e"), RENAME_EXCHANGE),
				0);
			if (told_by < 3)
				change(told[told_by], told_by == 0 ? "/d/" : "/");
			else
				scan_all(&b.scan);
			scan_roots(&b.scan);
			if (listed_first)
				list_all();
			while (b.reader.file != NULL)
				reader_step(&b.reader);
			if (told_by < 3)
				expect_what_is_there("/d/f", "d/f");
			work_later(3000);
			work_later(3000);
			ck_assert(file("/d/f")->fresh);
			expect_what_is_there("/d/f", "d/f");
		}
	}
	free(data);
	stop(&img);
}

/* An image of a root that is the link "current", perhaps to r1, a directory. */
static void build_linked(struct built_image *img)
{
	static char link[300];

	snprintf(link, sizeof(link), "%s/current", tree);
	tree_text("r1/a", "first");
	configure(1 << 20, 1 << 16);
	roots[1].root = link;
	unit_build_start(&b, &conf);
	unit_build_work(&b);
	ck_assert_int_eq(image_build(&b.catalog, 0, ++number, img), 0);
}

static void swap_root(void)
{
	tree_link("r2", "next");
	ck_assert_int_eq(rename(tree_path("next"), tree_path("current")), 0);
	change(TREE_ROOT, "/");
}

TEST(root_appears_and_moves)
{
	struct built_image img, next;
	struct image_head *h;

	tree_dir("r1");
	tree_dir("r2");
	tree_text("r2/a", "second");
	tree_text("r2/b", "second");
	build_linked(&img);
	ck_assert_uint_eq(img.nentries, 0);
	built_image_close(&img);

	tree_link("r1", "current");
	ck_assert(scan_root_moved(&b.scan, 1));
	change(TREE_ROOT, "/");
	unit_build_work(&b);
	ck_assert(!scan_root_moved(&b.scan, 1));
	ck_assert_int_eq(image_build(&b.catalog, 0, ++number, &img), 0);
	h = index_of(&img);
	expect(&img, h, "/a", "first", "application/octet-stream");

	swap_root();
	ck_assert(is_stale(&img, h, "/a"));
	free(h);
	unit_build_work(&b);
	ck_assert_int_eq(image_build(&b.catalog, 1, ++number, &next), 0);
	h = index_of(&next);
	expect(&next, h, "/a", "second", "application/octet-stream");
	ck_assert_uint_eq(next.nentries, 2);
	free(h);

	/* Told by nobody: the rescan looks. */
	ck_assert_int_eq(unlink(tree_path("current")), 0);
	scan_all(&b.scan);
	unit_build_work(&b);
	ck_assert_uint_eq(b.catalog.nfiles, 0);
	built_image_close(&next);
	stop(&img);
}

static unsigned npauses, nmoved;

static void look_at_root(void *ctx)
{
	(void)ctx;
	npauses++;
	nmoved += scan_root_moved(&b.scan, 1);
}

/* While the files of the former directory go the root is not taken for moved again. */
TEST(root_moves_once)
{
	struct built_image img;

	tree_dir("r1");
	tree_dir("r2");
	tree_text("r1/b", "first");
	tree_link("r1", "current");
	build_linked(&img);
	swap_root();
	b.catalog.pause = (struct pause){ .fn = look_at_root, .steps = PAUSE_STEPS - 1 };
	unit_build_work(&b);
	b.catalog.pause.fn = NULL;
	ck_assert_uint_eq(npauses, 1);
	ck_assert_uint_eq(nmoved, 0);
	stop(&img);
}

/* An index holds so many files and no more: that is no shortage to be tried again. */
TEST(more_files_than_an_index_holds)
{
	tree_write("one", "1", 1);
	tree_write("two", "2", 1);
	configure(1 << 20, 1 << 16);
	unit_build_start(&b, &conf);
	b.catalog.files_max = 1;
	unit_build_work(&b);
	backlog_apply(&b.scan, TREE_FILE, 1, "/three");
	unit_build_work(&b);
	ck_assert_uint_eq(b.catalog.nfiles, 1);
	ck_assert_int_eq(b.scan.trouble, 0);
	ck_assert(b.scan.said_full);
	unit_build_stop(&b);
}

static bool folds; /* the file system says that it is vfat */

int __real_fstatfs(int fd, struct statfs *fs);
int __wrap_fstatfs(int fd, struct statfs *fs);

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	int rc = __real_fstatfs(fd, fs);

	if (folds)
		fs->f_type = MSDOS_SUPER_MAGIC;
	return rc;
}

/* The kernel tells the name that a writer used, and such a file system takes several. */
TEST(another_spelling)
{
	tree_write("one", "1", 1);
	configure(1 << 20, 1 << 16);
	folds = true;
	unit_build_start(&b, &conf);
	unit_build_work(&b);
	change(TREE_FILE, "/ONE");
	ck_assert_uint_eq(b.catalog.nfiles, 1);
	tree_write("two", "2", 1);
	change(TREE_FILE, "/two");
	ck_assert_uint_eq(b.catalog.nfiles, 2);
	unit_build_work(&b);
	ck_assert_uint_eq(b.catalog.nfiles, 2);
	unit_build_stop(&b);
}

/* A million empty files are not for nothing. */
TEST(names_count)
{
	struct built_image img;
	struct stat st;

	for (unsigned i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		tree_write(name, "", 0);
	}
	build_with(40000, 1 << 16, &img);
	ck_assert_uint_ge(img.nentries, 100);
	ck_assert_uint_eq(b.reader.left_out, 300 - img.nentries);
	ck_assert(b.reader.said_past);
	ck_assert_int_eq(fstat(img.fds[0], &st), 0);
	ck_assert_int_le(st.st_size + (off_t)img.marks_size, 40000 + 1000);
	ck_assert_uint_eq(reader_pending(&b.reader), 0);
	stop(&img);
}

static void count(void *ctx)
{
	++*(unsigned *)ctx;
}

/* A listing that does not meet many any more is a long step. */
TEST(pauses_while_many_go)
{
	unsigned npaused = 0;
	struct built_image img;
	char name[16];

	for (unsigned i = 0; i < 2 * PAUSE_STEPS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		tree_write(name, "", 0);
	}
	build_with(1 << 20, 1 << 16, &img);
	ck_assert_uint_eq(img.nentries, 2 * PAUSE_STEPS);
	for (unsigned i = 0; i < 2 * PAUSE_STEPS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(unlink(tree_path(name)), 0);
	}
	scan_all(&b.scan);
	b.catalog.pause = (struct pause){ .fn = count, .ctx = &npaused };
	unit_build_work(&b);
	ck_assert_uint_eq(b.catalog.nfiles, 0);
	ck_assert_uint_eq(npaused, 2);
	b.catalog.pause.fn = NULL;
	stop(&img);
}

/* More than segments hold, which are small here: with max-size cut to what they do hold, the rest
 * is left out at once and not tried for ever. */
TEST(more_bytes_than_segments_hold)
{
	enum {
		SEGMENT = 64 << 10,
		BODY = 5056,
		FILES = 800
	}; /* twelve leave most of a body free */
	char *data = tree_bytes(BODY, 1);
	uint64_t hold = segments_hold(SEGMENT, BODY);
	struct built_image img;

	for (unsigned i = 0; i < FILES; i++) {
		char name[16] = { 0 };

		snprintf(name, sizeof(name), "%u", i);
		memcpy(data, name, sizeof(name));
		tree_write(name, data, BODY);
	}
	configure(hold, BODY);
	unit_build_start(&b, &conf);
	b.segments.size = SEGMENT;
	unit_build_work(&b);
	ck_assert_uint_eq(reader_pending(&b.reader), 0);
	ck_assert_uint_ge(b.catalog.nfiles, hold / (BODY + catalog_index_room(4)));
	ck_assert_uint_eq(b.reader.left_out, FILES - b.catalog.nfiles);
	ck_assert_int_eq(image_build(&b.catalog, 0, ++number, &img), 0);
	stop(&img);
	free(data);
}
