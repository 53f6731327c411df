/*
 * check_reply_names: which file answers for a path: index files, extensions that are left out, the
 * fallback; the same from the image, the disk, and a slow disk.
 */
#include "files/reply_file.h"
#include "files_unit.h"
#include "unit.h"

/* _i: 0 the disk, 1 the image, 2 a file system that may block, so that all is done by threads. */
enum { DISK, IMAGE, SLOW, WAYS };

static const struct slice extensions[] = { SLICE_LIT(".html"), SLICE_LIT(".txt") };
static struct location inner[2];

static void begin(int way)
{
	tree_text("app.html", "app");
	tree_text("page.html", "page");
	tree_text("both", "bare");
	tree_text("both.html", "html");
	tree_text("both.txt", "text");
	tree_text("v1.2.html", "dotted");
	tree_text("a.b", "a.b");
	tree_text("a.b.html", "other");
	tree_text("only.txt", "only");
	tree_dir("dir");
	tree_dir("odd.html");
	tree_dir("sub");
	tree_text("sub/index.html", "index");
	unit_site.all.extensions = extensions;
	unit_site.all.nextensions = 2;
	unit_site.all.fallback = SLICE("/app.html");
	inner[0] = unit_site.all;
	inner[0].prefix = SLICE("/none/");
	inner[0].fallback = SLICE("");
	inner[0].nextensions = 0;
	inner[1] = unit_site.all;
	inner[1].prefix = SLICE("/lost/");
	inner[1].fallback = SLICE("/lost/none");
	unit_site.locations = inner;
	unit_site.nlocations = 2;
	if (way == IMAGE)
		unit_publish(1);
	if (way == SLOW)
		unit_be_slow();
}

static struct h2d_req *ask(enum h2d_tree from, const char *path)
{
	struct h2d_req *req = unit_new(H2D_GET, NULL);

	req->path = slice_str(path);
	req->location = site_location(&unit_site, req->path);
	h2d_reply_file(req, from, path, strlen(path));
	unit_wait(req);
	return req;
}

static const struct {
	const char *path;
	int status;
	const char *body; /* or where it leads to */
} cases[] = {
	{ "/page", 200, "page" },
	{ "/page.html", 200, "page" },
	{ "/both", 200, "html" },
	{ "/both.txt", 200, "text" },
	{ "/only", 200, "only" },
	{ "/v1.2", 200, "dotted" },
	{ "/a.b", 200, "a.b" },
	{ "/dir", 301, "/dir/" },
	{ "/dir/", 200, "app" },
	{ "/odd", 200, "app" },
	{ "/odd.html", 301, "/odd.html/" },
	{ "/page/", 301, "/page" },
	{ "/no/such", 200, "app" },
	{ "/.hidden", 404, NULL },
	{ "/files/none", 404, NULL },
	{ "/none/page", 404, NULL },
	{ "/none/", 404, NULL },
	{ "/lost/x", 404, NULL },
};

TEST_EACH(names, WAYS)
{
	begin(_i);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct h2d_req *req = ask(H2D_DOCUMENT_ROOT, cases[i].path);

		ck_assert_msg(req->reply.status == cases[i].status, "%s: %d", cases[i].path,
			req->reply.status);
		if (cases[i].status == 200)
			unit_expect_body(req, cases[i].body, strlen(cases[i].body));
		else if (cases[i].status == 301)
			ck_assert_str_eq(unit_field(req, "location"), cases[i].body);
		unit_end(req);
	}
}

/* A handler's own name for a file, and the folder of uploads, stand for nothing else. */
TEST_EACH(of_handlers, WAYS)
{
	struct h2d_req *req;

	begin(_i);
	req = ask(H2D_UPLOAD_DIR, "/none");
	ck_assert_int_eq(req->reply.status, 404);
	unit_end(req);
	req = unit_new(H2D_GET, NULL);
	req->path = SLICE("/handler");
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, "/page", 5);
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 404);
	unit_end(req);
}

/* A cached page is found by one look-up, without a look at the disk. */
TEST(cached)
{
	struct h2d_req *req;

	begin(IMAGE);
	req = ask(H2D_DOCUMENT_ROOT, "/page");
	ck_assert_int_eq(counters->cache_hits, 1);
	ck_assert_int_eq(counters->cache_misses, 0);
	unit_end(req);
}

/* Who goes away while a thread looks takes nothing along. */
TEST(gone)
{
	struct h2d_req *req;

	begin(SLOW);
	for (unsigned turns = 0; turns < 4; turns++) {
		req = unit_new(H2D_GET, NULL);
		req->path = SLICE("/no/such");
		h2d_reply_file(req, H2D_DOCUMENT_ROOT, req->path.p, req->path.n);
		for (unsigned i = 0; i < turns && !req->reply.ready; i++)
			ck_assert_int_eq(loop_turn(&unit_loop, 1000), 0);
		unit_end(req);
	}
	unit_settle();
}
