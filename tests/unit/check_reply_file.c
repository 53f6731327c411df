/* check_reply_file: from a name to a response, the same from the image, the disk, and a slow disk.
 */
#include "files/reply_file.h"

#include "files_unit.h"
#include "unit.h"

static const char page[] = "<h1>hello</h1>";

/* _i: 0 the disk, 1 the image, 2 a file system that may block, so that all is done by threads. */
enum { DISK, IMAGE, SLOW, WAYS };

static void begin(int way)
{
	if (way == IMAGE)
		unit_publish(1);
	if (way == SLOW)
		unit_be_slow();
}

static int64_t hits(void)
{
	return counters->cache_hits;
}

TEST_EACH(get, WAYS)
{
	struct h2d_req *req;

	tree_text("page.html", page);
	tree_date("page.html", 784111777);
	begin(_i);
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/page.html", NULL, NULL);
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 200);
	ck_assert_str_eq(unit_field(req, "content-type"), "text/html; charset=utf-8");
	ck_assert_str_eq(unit_field(req, "last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
	ck_assert_str_eq(unit_field(req, "content-length"), "14");
	/* One tag, wherever the bytes came from. */
	ck_assert_str_eq(unit_field(req, "etag"), "\"{TbfvYwAFxGJF}\"");
	ck_assert_int_eq(hits(), _i == IMAGE);
	ck_assert_int_eq(counters->cache_misses, _i != IMAGE);
	ck_assert_int_eq(req->record.source, _i == IMAGE ? REQ_SOURCE_IMAGE : REQ_SOURCE_DISK);
	ck_assert(req->reply.content);
	unit_expect_body(req, page, strlen(page));
	unit_end(req);
}

TEST_EACH(head, WAYS)
{
	struct h2d_req *req;

	tree_text("page.html", page);
	begin(_i);
	req = unit_ask(H2D_HEAD, H2D_DOCUMENT_ROOT, "/page.html", NULL, NULL);
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 200);
	ck_assert_str_eq(unit_field(req, "content-length"), "14");
	ck_assert(!req->reply.content);
	unit_end(req);
}

TEST_EACH(no_date_from_the_future, WAYS)
{
	struct h2d_req *req;

	tree_text("page.html", page);
	tree_date("page.html", 784111778);
	begin(_i);
	/* The date field may lag behind the clock: it is what counts. */
	for (int ahead = 0; ahead < 2; ahead++) {
		unit_env.date_s = 784111778 - ahead;
		req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/page.html", NULL, NULL);
		unit_wait(req);
		ck_assert_str_eq(unit_field(req, "last-modified"),
			ahead ? "" : "Sun, 06 Nov 1994 08:49:38 GMT");
		unit_end(req);
	}
}

TEST_EACH(refused, WAYS)
{
	static const struct {
		const char *path;
		int status;
	} cases[] = {
		{ "/missing", 404 },
		{ "/file/below", 404 },
		{ "/above", 404 },
		{ "/absolute", 404 },
		{ "/dirlink/passwd", 404 },
		{ "/loop", 404 },
		{ "/fifo", 404 },
		{ "/../etc/passwd", 404 },
		{ "/files/..", 404 },
		{ "/./file", 404 },
		{ "file", 404 },
		{ "", 404 },
		{ "/within", 200 },
		{ "/...", 404 },
		{ "/.dot", 404 },
		{ "/.well-known", 301 },
		{ "/.well-known/", 404 },
		{ "/.well-known/acme", 200 },
		{ "/sub/.well-known/acme", 200 },
		{ "/.well-known/.dot", 404 },
		{ "/.well-knownx", 404 },
		{ "/.well-know", 404 },
		{ "/sub/.git/config", 404 },
		{ "/sub/.git", 404 },
		{ "/sub/.git/", 404 },
		{ "/sub/x.y", 200 },
		{ "/sub/x.", 200 },
	};

	tree_text("file", "x");
	tree_text("...", "x");
	tree_text(".dot", "x");
	tree_dir(".well-known");
	tree_text(".well-known/acme", "x");
	tree_text(".well-known/.dot", "x");
	tree_text(".well-knownx", "x");
	tree_text(".well-know", "x");
	tree_dir("sub");
	tree_dir("sub/.git");
	tree_text("sub/.git/config", "x");
	tree_text("sub/.git/index.html", "x");
	tree_dir("sub/.well-known");
	tree_text("sub/.well-known/acme", "x");
	tree_text("sub/x.y", "x");
	tree_text("sub/x.", "x");
	tree_link("file", "within");
	tree_link("../../../../../../etc/passwd", "above");
	tree_link("/etc/passwd", "absolute");
	tree_link("/etc", "dirlink");
	tree_link("loop", "loop");
	ck_assert_int_eq(mkfifo(tree_path("fifo"), 0644), 0);
	begin(_i);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = unit_status(H2D_DOCUMENT_ROOT, cases[i].path);

		ck_assert_msg(status == cases[i].status, "%s: %d", cases[i].path, status);
	}
}

TEST_EACH(uploads, WAYS)
{
	struct h2d_req *req;

	tree_text("files/up.html", page);
	tree_dir("files/dir");
	tree_text("files/dir/index.html", page);
	tree_text("other", "x");
	begin(_i);
	req = unit_ask(H2D_GET, H2D_UPLOAD_DIR, "/up.html", NULL, NULL);
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 200);
	ck_assert_str_eq(unit_field(req, "x-content-type-options"), "nosniff");
	ck_assert_str_eq(unit_field(req, "content-security-policy"), "sandbox");
	unit_expect_body(req, page, strlen(page));
	unit_end(req);
	ck_assert_int_eq(hits(), _i == IMAGE);
	ck_assert_int_eq(unit_status(H2D_UPLOAD_DIR, "/dir"), 404);
	ck_assert_int_eq(unit_status(H2D_UPLOAD_DIR, "/dir/"), 404);
	ck_assert_int_eq(unit_status(H2D_UPLOAD_DIR, "/"), 404);
	ck_assert_int_eq(unit_status(H2D_UPLOAD_DIR, "/../other"), 404);
	ck_assert_int_eq(unit_status(H2D_UPLOAD_DIR, "/missing"), 404);
}

TEST(stale_and_silent)
{
	tree_text("a", "old");
	tree_text("b", "old");
	begin(IMAGE);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/a"), 200);
	ck_assert_int_eq(hits(), 1);
	memset(unit_image.marks->stale, 1, unit_image.nentries);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/a"), 200);
	ck_assert_int_eq(hits(), 1);
	memset(unit_image.marks->stale, 0, unit_image.nentries);
	image_build_tick(&unit_image, clock_read_us() / 1000 - 5000);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/b"), 200);
	ck_assert_int_eq(hits(), 1);
	image_build_tick(&unit_image, clock_read_us() / 1000 + 60000);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/b"), 200);
	ck_assert_int_eq(hits(), 2);
	files_no_image(unit_files);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/b"), 200);
	ck_assert_int_eq(hits(), 2);
	unit_settle();
}

TEST(replaced_while_borrowed)
{
	struct h2d_req *req, *not_modified;
	char *data = tree_bytes(300000, 1), *newer = tree_bytes(300000, 2);
	char *got = malloc(300000);

	tree_write("big", data, 300000);
	begin(IMAGE);
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/big", NULL, NULL);
	not_modified = unit_ask(H2D_HEAD, H2D_DOCUMENT_ROOT, "/big", NULL, NULL);
	ck_assert_int_eq(unit_read(req, got, 1000), 1000);
	tree_write("big", newer, 300000);
	unit_publish(2);
	unit_settle();
	/* Somebody still points into the old one. */
	ck_assert_int_eq(counters->images, 1);
	unit_expect_body(req, data + 1000, 299000);
	unit_end(req);
	ck_assert_int_eq(counters->images, 1);
	ck_assert_int_eq(strlen(unit_field(not_modified, "etag")), ETAG_CONTENT_LEN);
	unit_end(not_modified);
	unit_settle();
	ck_assert_int_eq(counters->images, 0);
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/big", NULL, NULL);
	ck_assert(req->reply.ready);
	unit_expect_body(req, newer, 300000);
	unit_end(req);
	free(data);
	free(newer);
	free(got);
}

/* Its aligned place is behind the end of the segment. */
TEST(empty_file_last)
{
	struct h2d_req *req;

	tree_text("dir-comes-later", "x");
	tree_dir("d");
	tree_text("d/empty", "");
	begin(IMAGE);
	req = unit_answer(H2D_GET, "/d/empty", NULL);
	ck_assert_int_eq(req->reply.status, 200);
	ck_assert_int_eq(hits(), 1);
	ck_assert_str_eq(unit_field(req, "content-length"), "0");
	unit_end(req);
}

TEST(older_and_refused_images)
{
	int fds[8];

	tree_text("a", "x");
	unit_publish(5);
	for (int i = 0; i < unit_image.nfds; i++)
		fds[i] = dup(unit_image.fds[i]);
	/* It says 5 inside. */
	files_take_image(unit_files, 6, fds, unit_image.nfds);
	unit_settle();
	ck_assert_uint_eq(files_image_number(unit_files), 5);
	files_take_image(unit_files, 7, fds, 0);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/a"), 200);
	ck_assert_int_eq(hits(), 1);
	for (int i = 0; i < unit_image.nfds; i++)
		fds[i] = dup(unit_image.fds[i]);
	files_take_image(unit_files, 5, fds, unit_image.nfds);
	/* Left to its thread: files_free() comes first. */
}

TEST(nothing_configured)
{
	struct doc_roots conf = unit_conf;

	files_free(&unit_files);
	unit_root.root = "";
	unit_files = files_new(&unit_loop, unit_offload, &conf);
	unit_env.files = unit_files;
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/"), 404);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/x"), 404);
	unit_env.files = NULL;
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/x"), 404);
}

/* Hidden index names are no index names. */
TEST_EACH(hidden_index, WAYS)
{
	static const struct slice names[] = { SLICE_LIT(".first"), SLICE_LIT("second") };

	unit_site.all.index = names;
	tree_text(".first", "1");
	begin(_i);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/"), 404);
	tree_text("second", "2");
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/"), 200);
}

/* A location's charset is not the root's, which the types in an image carry. */
TEST_EACH(charset_of_the_place, WAYS)
{
	struct h2d_req *req;

	tree_text("a.txt", "x");
	tree_text("a.png", "x");
	begin(_i);
	unit_site.all.charset = SLICE("latin1");
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/a.txt", NULL, NULL);
	unit_wait(req);
	ck_assert_str_eq(unit_field(req, "content-type"), "text/plain; charset=latin1");
	unit_end(req);
	unit_site.all.charset = SLICE("");
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/a.txt", NULL, NULL);
	unit_wait(req);
	ck_assert_str_eq(unit_field(req, "content-type"), "text/plain");
	unit_end(req);
	unit_site.all.charset = SLICE("latin1");
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/a.png", NULL, NULL);
	unit_wait(req);
	ck_assert_str_eq(unit_field(req, "content-type"), "image/png");
	unit_end(req);
}

/* By whatever name what strangers uploaded is asked for, and with whatever status. */
TEST_EACH(sandbox, WAYS)
{
	static const struct {
		const char *path, *name, *value;
		int status;
		bool strange;
	} cases[] = {
		{ "/files/up.html", NULL, NULL, 200, true },
		{ "/files/up.html", "range", "bytes=0-1", 206, true },
		{ "/files/up.html", "range", "bytes=99-", 416, true },
		{ "/files/up.html", "if-match", "\"x\"", 412, true },
		{ "/files/none", NULL, NULL, 404, true },
		{ "/files/.hidden", NULL, NULL, 404, true },
		{ "/files", NULL, NULL, 301, true },
		{ "/filesystem", NULL, NULL, 200, false },
	};

	tree_text("files/up.html", page);
	tree_text("filesystem", page);
	begin(_i);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct h2d_req *req = unit_ask(
			H2D_GET, H2D_DOCUMENT_ROOT, cases[i].path, cases[i].name, cases[i].value);

		unit_wait(req);
		ck_assert_int_eq(req->reply.status, cases[i].status);
		ck_assert_str_eq(unit_field(req, "x-content-type-options"),
			cases[i].strange ? "nosniff" : "");
		ck_assert_str_eq(unit_field(req, "content-security-policy"),
			cases[i].strange ? "sandbox" : "");
		unit_end(req);
	}
}

static struct h2d_req *error_page(
	enum h2d_method method, int status, const char *file, const char *fields)
{
	struct h2d_req *req = unit_new(method, fields);

	reply_file_error_page(req, status, slice_str(file));
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, status);
	ck_assert_str_eq(unit_field(req, "etag"), "");
	ck_assert_str_eq(unit_field(req, "last-modified"), "");
	ck_assert_str_eq(unit_field(req, "accept-ranges"), "");
	return req;
}

TEST_EACH(error_pages, WAYS)
{
	static const char fields[] = "range: bytes=0-1\nif-none-match: *\nif-match: \"x\"\n";
	static const char *const missing[] = { "/none.html", "/dir", "/dir/", "", "x", "/../x" };
	struct h2d_req *req;

	tree_text("404.txt", "not here");
	tree_text(".403.txt", "no");
	tree_dir("dir");
	begin(_i);
	req = error_page(H2D_GET, 404, "/404.txt", fields);
	ck_assert_str_eq(unit_field(req, "content-type"), "text/plain; charset=utf-8");
	unit_expect_body(req, "not here", 8);
	unit_end(req);
	req = error_page(H2D_HEAD, 503, "/404.txt", fields);
	ck_assert(!req->reply.content);
	ck_assert_str_eq(unit_field(req, "content-length"), "8");
	unit_end(req);
	/* The operator's own choice. */
	req = error_page(H2D_POST, 403, "/.403.txt", fields);
	unit_expect_body(req, "no", 2);
	unit_end(req);
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		req = error_page(H2D_GET, 404, missing[i], fields);
		ck_assert_str_eq(unit_field(req, "content-type"), "text/html; charset=utf-8");
		ck_assert_str_eq(unit_field(req, "location"), "");
		unit_end(req);
	}
	unit_env.files = NULL;
	unit_end(error_page(H2D_GET, 404, "/404.txt", fields));
}

/* A name whose length wrapped is the handler's fault. */
TEST_SIGNAL(length_that_wrapped, 1, SIGABRT)
{
	struct h2d_req *req = malloc(sizeof(*req));
	size_t n = 0;

	begin(0);
	req_init(req, &unit_env, NULL, &unit_stream);
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, "/d", n - 1);
}
