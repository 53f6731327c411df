/*
 * check_listing: from a directory to a reply: what is shown and what is not,
 * what cannot be read, requests that go away. What the page looks like is check_listing_page's.
 */
#include "files/listing.h"

#include <dirent.h>
#include <semaphore.h>

#include "files_unit.h"
#include "unit.h"

static sem_t begun, go_on;
static bool hold_next; /* the next directory that is opened */

UNIT_SETUP(setup)
{
	unit_site.all.autoindex = true;
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
}

UNIT_TEARDOWN(teardown)
{
	ck_assert_int_eq(counters->listing_bytes, 0);
}

/* The page that req has at its end, read in pieces of step bytes; the caller frees it. */
static char *page_of(struct h2d_req *req, size_t step)
{
	size_t n, at = 0;
	char *page;

	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 200);
	n = req->reply.body.left;
	page = calloc(1, n + 1);
	while (at < n)
		at += (size_t)unit_read(req, page + at, n - at < step ? n - at : step);
	unit_end(req);
	return page;
}

/* The page of path; the caller frees it. */
static char *get(const char *path, const char *name, const char *value)
{
	return page_of(unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, path, name, value), 20000);
}

static void expect(const char *page, const char *href, bool there)
{
	char want[300];

	snprintf(want, sizeof(want), "href=\"./%s\">", href);
	ck_assert_msg((strstr(page, want) != NULL) == there, "%s in %s", want, page);
}

TEST_EACH(what_is_shown, 2)
{
	char *page;

	tree_dir("d");
	tree_text("d/file", "12345");
	tree_text("d/a b", "");
	tree_dir("d/sub");
	tree_text("d/.hidden", "");
	tree_dir("d/.git");
	tree_dir("d/.well-known");
	tree_link("file", "d/link");
	tree_link("../d/sub", "d/link-to-dir");
	tree_link("nowhere", "d/broken");
	tree_link("loop", "d/loop");
	tree_link("/etc/passwd", "d/absolute");
	tree_link("../../../../../../etc/passwd", "d/outside");
	ck_assert_int_eq(mkfifo(tree_path("d/fifo"), 0644), 0);
	if (_i == 1)
		unit_publish(1);
	page = get("/d/", NULL, NULL);
	expect(page, "file", true);
	expect(page, "a%20b", true);
	expect(page, "sub/", true);
	expect(page, ".well-known/", true);
	expect(page, "link", true);
	expect(page, "link-to-dir/", true);
	ck_assert_ptr_null(strstr(page, "hidden"));
	ck_assert_ptr_null(strstr(page, "git"));
	ck_assert_ptr_null(strstr(page, "broken"));
	ck_assert_ptr_null(strstr(page, "loop"));
	ck_assert_ptr_null(strstr(page, "absolute"));
	ck_assert_ptr_null(strstr(page, "outside"));
	ck_assert_ptr_null(strstr(page, "fifo"));
	/* what is said of a link is said of its target */
	ck_assert_ptr_nonnull(strstr(page, "<bdi>link</bdi></a></td><td title=\"5 bytes\">"));
	ck_assert_ptr_nonnull(strstr(page, "3 directories, 3 files"));
	free(page);

	page = get("/d/link-to-dir/", NULL, NULL);
	ck_assert_ptr_nonnull(strstr(page, "Nothing is here."));
	free(page);
	page = get("/", NULL, NULL);
	expect(page, "d/", true);
	free(page);
}

TEST(not_there)
{
	tree_text("file", "");
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/none/"), 404);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/none/none/"), 404);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/file/"), 404);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/none"), 404);
	ck_assert_int_eq(unit_status(H2D_UPLOAD_DIR, "/"), 404);
	tree_dir("d");
	tree_link("/etc", "outside");
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/outside/"), 404);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/d"), 301);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/d/"), 200);
	tree_text("d/index.htm", "own page");
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/d/"), 200);
	free(get("/", NULL, NULL));
	unit_site.all.autoindex = false;
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/"), 404);
}

TEST(index_first)
{
	char *page;

	tree_text("index.htm", "own page");
	page = get("/", NULL, NULL);
	ck_assert_str_eq(page, "own page");
	free(page);
}

TEST(no_index_names)
{
	char *page;

	unit_site.all.nindex = 0;
	tree_text("index.html", "own page");
	page = get("/", NULL, NULL);
	expect(page, "index.html", true);
	free(page);
}

/* As somebody who may enter the directory, and not read it. */
TEST(forbidden)
{
	bool root = geteuid() == 0;

	tree_dir("closed");
	tree_dir("half");
	ck_assert_int_eq(chmod(tree, 0755), 0);
	ck_assert_int_eq(chmod(tree_path("closed"), root ? 0700 : 0), 0);
	ck_assert_int_eq(chmod(tree_path("half"), root ? 0711 : 0111), 0);
	if (root)
		ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/closed/"), 403);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/half/"), 403);
	if (root)
		ck_assert_int_eq(seteuid(0), 0);
	else
		ck_assert_int_eq(chmod(tree_path("closed"), 0755), 0);
}

/* The request goes away while a thread reads. */
TEST(gone)
{
	tree_text("x", "");
	unit_site.all.nindex = 0;
	for (int i = 0; i < 20; i++)
		unit_end(unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/", NULL, NULL));
	unit_settle();
	ck_assert_int_eq(counters->listing_bytes, 0);
}

/* … and so do the files, before the thread is back. */
TEST(gone_at_the_end)
{
	unit_site.all.nindex = 0;
	unit_end(unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/", NULL, NULL));
}

/* Of a page nothing is left in the connection's output: it is gone with its request. */
TEST(sent_later)
{
	struct h2d_req *req;
	struct outq q;
	struct iovec iov[4];

	tree_text("x", "");
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/", NULL, NULL);
	unit_wait(req);
	ck_assert_int_gt(counters->listing_bytes, 0);
	outq_init(&q, &unit_blocks);
	ck_assert_int_eq(req->reply.body.ops->ready(&req->reply.body, 100), 100);
	ck_assert_int_eq(req->reply.body.ops->emit(&req->reply.body, 100, &q), 0);
	unit_end(req);
	ck_assert_int_eq(counters->listing_bytes, 0);
	ck_assert_int_ge(outq_iov(&q, iov, 4, SIZE_MAX), 1);
	ck_assert_mem_eq(iov[0].iov_base, "<!doctype html>", 15);
	outq_clear(&q);
}

enum { PAGES = 50, NAMES = 1000, PIECE = 1000 };

/* Pages of half a megabyte: names of 200 bytes. */
static void large_pages(void)
{
	char name[203] = "", text[16];

	tree_dir("d");
	for (int i = 0; i < NAMES; i++) {
		memset(name, 'n', 202);
		memcpy(name, text, (size_t)snprintf(text, sizeof(text), "d/%04d", i));
		tree_text(name, "");
	}
}

/*
 * More than a connection's share, all standing still in the middle, one with bytes that it was told
 * are ready: every one is answered and comes to its end, but for what has changed meanwhile.
 */
TEST(stand_still)
{
	struct http_conn conn = { 0 };
	struct h2d_req *reqs[PAGES];
	char *whole, *got;
	size_t n;

	unit_conn = &conn;
	large_pages();
	whole = get("/d/", NULL, NULL);
	n = strlen(whole);
	ck_assert_uint_gt(n * PAGES, LISTING_SHARE);
	got = malloc(n);
	for (int i = 0; i < PAGES; i++) {
		reqs[i] = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/d/", NULL, NULL);
		unit_wait(reqs[i]);
		ck_assert_int_eq(reqs[i]->reply.status, 200);
		ck_assert_int_le(counters->listing_bytes, LISTING_SHARE);
		if (i == 0) {
			ck_assert_int_eq(unit_read(reqs[0], got, PIECE), PIECE);
			ck_assert_int_eq(
				reqs[0]->reply.body.ops->ready(&reqs[0]->reply.body, PIECE), PIECE);
		}
	}
	for (int i = 0; i < PAGES - 1; i++) {
		size_t at = i == 0 ? PIECE : 0;

		while (at < n) {
			ssize_t r = unit_read(reqs[i], got + at, n - at < 20000 ? n - at : 20000);

			ck_assert_int_gt(r, 0);
			at += (size_t)r;
		}
		ck_assert_mem_eq(got, whole, n);
		ck_assert_int_le(counters->listing_bytes, LISTING_SHARE);
		if (i > 0)
			unit_end(reqs[i]);
	}
	/* The last was given back for those; what it began cannot go on. */
	tree_text("d/new", "");
	for (int i = 1; i < PAGES - 1; i++) {
		reqs[i] = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/d/", NULL, NULL);
		unit_wait(reqs[i]);
	}
	ck_assert_int_eq(unit_read(reqs[PAGES - 1], got, PIECE), UNIT_FAILED);
	for (int i = 0; i < PAGES; i++)
		unit_end(reqs[i]);
	free(whole);
	free(got);
}

/* --- equal ones ------------------------------------------------------------------------------- */

static struct job blocker;

static void block(struct job *j)
{
	sem_post(&begun);
	sem_wait(&go_on);
}

static void blocked(struct job *j)
{
}

/* The thread of listings has something else to do, until go_on. */
static void hold(void)
{
	blocker = (struct job){ .work = block, .done = blocked, .class = JOB_LISTING };
	ck_assert_int_eq(offload_submit(unit_offload, &blocker), 0);
	sem_wait(&begun);
}

static unsigned directories_read;

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);

DIR *__wrap_fdopendir(int fd)
{
	__atomic_add_fetch(&directories_read, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&hold_next, false, __ATOMIC_SEQ_CST)) {
		sem_post(&begun);
		sem_wait(&go_on);
	}
	return __real_fdopendir(fd);
}

static struct h2d_req *ask(const char *query)
{
	struct h2d_req *req = unit_new(H2D_GET, NULL);

	req->path = SLICE("/");
	req->query = slice_str(query);
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, "/", 1);
	return req;
}

static void expect_all(struct h2d_req *req, const char *href)
{
	char *page = page_of(req, 500);

	expect(page, href, true);
	free(page);
}

/* A thread reads the directory once for all who asked before it began, and holds it once. */
TEST(equal_ones)
{
	struct http_conn conns[3] = { 0 };
	struct h2d_req *reqs[30];

	tree_text("x", "");
	unit_site.all.nindex = 0;
	hold();
	for (int i = 0; i < 30; i++) {
		unit_conn = &conns[i % 3];
		reqs[i] = ask(i < 20 ? "" : "sort=size");
	}
	/* The first one goes away again, and so do others: the rest are answered all the same. */
	for (int i = 0; i < 5; i++)
		unit_end(reqs[i]);
	sem_post(&go_on);
	for (int i = 5; i < 30; i++)
		unit_wait(reqs[i]);
	ck_assert_uint_eq(directories_read, 2);
	ck_assert_int_gt(counters->listing_bytes, (int64_t)reqs[5]->reply.body.left);
	ck_assert_int_lt(counters->listing_bytes, 3 * (int64_t)reqs[5]->reply.body.left);
	for (int i = 5; i < 30; i++)
		expect_all(reqs[i], "x");
	unit_settle();
}

/* A connection's line is its own: who asks for what is last in it has a reading of his own. */
TEST(not_behind_a_line)
{
	static const char *const queries[] = { "sort=size", "", "" };
	struct http_conn conns[2] = { 0 };
	struct h2d_req *reqs[3];

	tree_text("x", "");
	unit_site.all.nindex = 0;
	hold();
	for (int i = 0; i < 3; i++) {
		unit_conn = &conns[i / 2];
		reqs[i] = ask(queries[i]);
	}
	sem_post(&go_on);
	for (int i = 0; i < 3; i++)
		expect_all(reqs[i], "x");
	ck_assert_uint_eq(directories_read, 3);
}

/* The next thread that opens a directory says so, and waits for go_on. */
static void hold_reader(void)
{
	__atomic_store_n(&hold_next, true, __ATOMIC_SEQ_CST);
}

/* Who asks while a thread reads may have put something there: another reading is for those. */
TEST(who_asks_later)
{
	struct h2d_req *first, *later[2];

	unit_site.all.nindex = 0;
	tree_text("x", "");
	hold_reader();
	first = ask("");
	sem_wait(&begun);
	tree_text("new", "");
	for (int i = 0; i < 2; i++)
		later[i] = ask("");
	sem_post(&go_on);
	expect_all(first, "x");
	for (int i = 0; i < 2; i++)
		expect_all(later[i], "new");
	ck_assert_uint_eq(directories_read, 2);
}

/* The one whose job it was goes away: it is read on for who still waits, and for nobody else. */
TEST_EACH(who_began_goes, 2)
{
	struct h2d_req *reqs[4];

	unit_site.all.nindex = 0;
	tree_text("x", "");
	hold();
	for (int i = 0; i < 4; i++)
		reqs[i] = ask("");
	hold_reader();
	sem_post(&go_on);
	sem_wait(&begun);
	unit_end(reqs[0]);
	unit_end(reqs[1]);
	if (_i == 0) {
		sem_post(&go_on);
		expect_all(reqs[2], "x");
		expect_all(reqs[3], "x");
		ck_assert_uint_eq(directories_read, 1);
		return;
	}
	unit_end(reqs[2]);
	unit_end(reqs[3]);
	reqs[0] = ask("");
	sem_post(&go_on);
	expect_all(reqs[0], "x");
	ck_assert_uint_eq(directories_read, 2);
}
