/* check_build: an image of a tree: all of it, nothing that leaves it, nothing that is no file. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "cache/build.h"
#include "tree_unit.h"
#include "unit.h"

static unsigned asked;

static bool go_on(void *ctx)
{
	asked++;
	return ctx == NULL;
}

static int build_with(uint64_t max_size, uint64_t max_file, bool stop, struct pack_image *img)
{
	struct files_root roots[] = {
		{ .root = "", .upload_dir = "", .charset = "" },
		{ .root = tree, .upload_dir = "", .charset = "utf-8" },
	};
	struct files_conf conf = {
		.roots = roots,
		.nroots = 2,
		.max_size = max_size,
		.max_file_size = max_file,
	};

	return build_image(&(struct build){
		.conf = &conf,
		.number = 5,
		.go_on = go_on,
		.ctx = stop ? &asked : NULL,
	}, img);
}

static struct image_head *index_of(const struct pack_image *img)
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

static void expect(const struct pack_image *img, const struct image_head *h, const char *path,
	const char *content, const char *type)
{
	const struct image_entry *e = find(h, path);
	char data[256];

	ck_assert_msg(e != NULL, "%s is missing", path);
	ck_assert_uint_eq(e->n, strlen(content));
	ck_assert_int_eq(pread(img->fds[2 + e->segment], data, e->n, e->at), e->n);
	ck_assert_mem_eq(data, content, e->n);
	ck_assert(slice_eq(slice_of(image_strings(h) + e->type.at, e->type.n), slice_str(type)));
}

START_TEST(whole_tree)
{
	struct pack_image img;
	struct image_head *h;

	tree_text("index.html", "<p>hello");
	tree_text("empty", "");
	tree_text(".hidden", "dots are no secret");
	tree_text("caf\xc3\xa9 & \"\xff.txt", "odd");
	tree_dir("a");
	tree_dir("a/b");
	tree_text("a/b/c.css", "p{}");
	ck_assert_int_eq(build_with(1 << 20, 1 << 16, false, &img), 0);
	ck_assert_uint_eq(img.nentries, 5);
	ck_assert_uint_eq(img.number, 5);
	h = index_of(&img);
	expect(&img, h, "/index.html", "<p>hello", "text/html; charset=utf-8");
	expect(&img, h, "/empty", "", "application/octet-stream");
	expect(&img, h, "/.hidden", "dots are no secret", "application/octet-stream");
	expect(&img, h, "/caf\xc3\xa9 & \"\xff.txt", "odd", "text/plain; charset=utf-8");
	expect(&img, h, "/a/b/c.css", "p{}", "text/css; charset=utf-8");
	ck_assert_ptr_null(image_find(h, 0, SLICE("/index.html")));
	ck_assert_ptr_null(find(h, "/a"));
	ck_assert_ptr_null(find(h, "/"));
	free(h);
	pack_image_close(&img);
}
END_TEST

START_TEST(links)
{
	struct pack_image img;
	struct image_head *h;

	tree_dir("a");
	tree_text("a/file.txt", "x");
	tree_link("a/file.txt", "within.txt");
	tree_link("../a/file.txt", "a/through.txt");
	tree_link("../../../../../../etc/passwd", "above");
	tree_link("/etc/passwd", "absolute");
	tree_link("a", "dirlink");
	tree_link("..", "up");
	tree_link("loop", "loop");
	tree_link("/proc/self/exe", "magic");
	ck_assert_int_eq(build_with(1 << 20, 1 << 16, false, &img), 0);
	h = index_of(&img);
	expect(&img, h, "/within.txt", "x", "text/plain; charset=utf-8");
	expect(&img, h, "/a/through.txt", "x", "text/plain; charset=utf-8");
	ck_assert_uint_eq(img.nentries, 3);
	free(h);
	pack_image_close(&img);
}
END_TEST

START_TEST(no_files)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct pack_image img;
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A FIFO without a writer would hold open() for ever. */
	ck_assert_int_eq(mkfifo(tree_path("fifo"), 0644), 0);
	tree_link("fifo", "fifo.link");
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%.100s", tree_path("sock"));
	ck_assert_int_eq(bind(s, (struct sockaddr *)&sun, sizeof(sun)), 0);
	close(s);
	tree_dir("empty");
	ck_assert_int_eq(build_with(1 << 20, 1 << 16, false, &img), 0);
	ck_assert_uint_eq(img.nentries, 0);
	ck_assert_int_eq(img.nfds, 2);
	pack_image_close(&img);
}
END_TEST

START_TEST(unreadable)
{
	struct pack_image img;

	tree_text("secret", "x");
	tree_text("open", "x");
	tree_dir("shut");
	tree_text("shut/in", "x");
	ck_assert_int_eq(chmod(tree_path("secret"), 0), 0);
	ck_assert_int_eq(chmod(tree_path("shut"), 0), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(chmod(tree, 0755) | seteuid(65534), 0);
	ck_assert_int_eq(build_with(1 << 20, 1 << 16, false, &img), 0);
	ck_assert_uint_eq(img.nentries, 1);
	/* The descriptors are for those of the same user. */
	ck_assert_int_gt(lseek(img.fds[0], 0, SEEK_END), 0);
	pack_image_close(&img);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(tree_path("shut"), 0700), 0);
}
END_TEST

START_TEST(sizes)
{
	struct pack_image img;
	struct image_head *h;
	char *data = tree_bytes(4000, 1);

	tree_write("fits", data, 1000);
	tree_write("large", data, 1001);
	ck_assert_int_eq(build_with(1 << 20, 1000, false, &img), 0);
	h = index_of(&img);
	ck_assert_ptr_nonnull(find(h, "/fits"));
	ck_assert_ptr_null(find(h, "/large"));
	free(h);
	pack_image_close(&img);

	tree_dir("deep");
	tree_write("deep/more", data, 4000);
	/* Near the root first: those two, not the deep one. */
	ck_assert_int_eq(build_with(4000, 4000, false, &img), 0);
	h = index_of(&img);
	ck_assert_ptr_nonnull(find(h, "/fits"));
	ck_assert_ptr_nonnull(find(h, "/large"));
	ck_assert_uint_eq(img.content, 2001);
	free(h);
	free(data);
	pack_image_close(&img);
}
END_TEST

START_TEST(many_files)
{
	struct pack_image img;
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
	ck_assert_int_eq(build_with(1 << 20, 1 << 16, false, &img), 0);
	fprintf(stderr, "%u files in %llu us\n", img.nentries,
		(unsigned long long)(clock_read_us() - start));
	ck_assert_uint_eq(img.nentries, 2000);
	pack_image_close(&img);
}
END_TEST

START_TEST(stops_when_told)
{
	struct pack_image img;
	char name[64];

	/* More than one build's worth of asking: a size that takes well over 50 ms to hash. */
	char *data = tree_bytes(8 << 20, 1);

	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		tree_write(name, data, 8 << 20);
	}
	free(data);
	ck_assert_int_eq(build_with(1 << 30, 8 << 20, true, &img), -ECANCELED);
	ck_assert_uint_eq(asked, 1);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("build");

	tcase_add_checked_fixture(tc, tree_init, tree_fini);
	tcase_add_test(tc, whole_tree);
	tcase_add_test(tc, links);
	tcase_add_test(tc, no_files);
	tcase_add_test(tc, unreadable);
	tcase_add_test(tc, sizes);
	tcase_add_test(tc, many_files);
	tcase_add_test(tc, stops_when_told);
	return tc;
}

UNIT_MAIN("build")
