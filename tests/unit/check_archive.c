/*
 * check_archive: from a directory to the bytes of its archive: what is in it and what is not, any
 * part alike, files that change, lists that are taken away, requests that go away.
 */
#include "files/archive.h"

#include "files_unit.h"
#include "states_unit.h"
#include "unit.h"

enum { LARGE = 300000 };

static char large[LARGE];
static struct location guarded[1];

UNIT_SETUP(setup)
{
	unit_site.all.archives = (1u << ARCHIVE_KINDS) - 2;
	for (int i = 0; i < LARGE; i++)
		large[i] = (char)(i * 31 >> 3);
	tree_dir("d");
	tree_text("d/b", "12345");
	tree_write("d/large", large, LARGE);
	tree_text("d/empty", "");
	tree_dir("d/sub");
	tree_text("d/sub/x", "in sub");
	tree_text("d/.hidden", "");
}

UNIT_TEARDOWN(teardown)
{
	ck_assert_int_eq(counters->listing_bytes, 0);
	ck_assert_uint_eq(unit_files->archives.held, 0);
}

static struct h2d_req *ask(enum h2d_method method, const char *kind, const char *fields)
{
	struct h2d_req *req = unit_new(method, fields);
	const char *path = "/d/";

	req->path = slice_str(path);
	req->query = slice_str(kind);
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, path, strlen(path));
	unit_wait(req);
	return req;
}

static struct h2d_req *ask_tar(const char *fields)
{
	return ask(H2D_GET, "archive=tar", fields);
}

/* All that is left of the body; the caller frees it. */
static char *read_all(struct h2d_req *req, size_t want)
{
	size_t n = req->reply.body.left, at = 0;
	char *all = malloc(n + 1);

	while (req->reply.body.left > 0) {
		ssize_t got = unit_read(req, all + at, n - at < want ? n - at : want);

		ck_assert_int_gt(got, 0);
		at += (size_t)got;
	}
	ck_assert_uint_eq(at, n);
	return all;
}

static char *whole(size_t *n)
{
	struct h2d_req *req = ask_tar(NULL);
	char *all;

	ck_assert_int_eq(req->reply.status, 200);
	*n = req->reply.body.left;
	all = read_all(req, 50000);
	unit_end(req);
	return all;
}

/* True if the tar has that member, with that content. */
static bool has(const char *tar, size_t n, const char *path, const char *text)
{
	for (size_t at = 0; at + 512 < n; at += 512)
		if (strcmp(tar + at, path) == 0 && memcmp(tar + at + 257, "ustar", 5) == 0)
			return memcmp(tar + at + 512, text, strlen(text)) == 0;
	return false;
}

TEST_EACH(what_is_in_it, 2)
{
	size_t n;
	char *tar;

	tree_link("b", "d/link");
	tree_link("sub", "d/link-to-dir");
	tree_link(".", "d/circle");
	tree_link("/etc/passwd", "d/outside");
	tree_link("nowhere", "d/broken");
	ck_assert_int_eq(mkfifo(tree_path("d/fifo"), 0644), 0);
	unit_site.all.no_links = _i == 1;
	tar = whole(&n);
	ck_assert_str_eq(tar, "d/");
	ck_assert(has(tar, n, "d/b", "12345"));
	ck_assert(has(tar, n, "d/large", ""));
	ck_assert(has(tar, n, "d/empty", ""));
	ck_assert(has(tar, n, "d/sub/", ""));
	ck_assert(has(tar, n, "d/sub/x", "in sub"));
	ck_assert(has(tar, n, "d/link", "12345") == (_i == 0));
	ck_assert(has(tar, n, "d/link-to-dir/x", "in sub") == (_i == 0));
	ck_assert(!has(tar, n, "d/circle/", "") && !has(tar, n, "d/outside", ""));
	ck_assert(!has(tar, n, "d/broken", "") && !has(tar, n, "d/fifo", ""));
	ck_assert(!has(tar, n, "d/.hidden", ""));
	free(tar);
}

/* Every range, whatever part of a member it begins and ends in, is what the whole has there. */
TEST(any_part)
{
	size_t n;
	char *tar = whole(&n), fields[64], *part;

	for (size_t at = 0; at < n; at += at < 4096 || at + 4096 > n ? 101 : 7919)
		for (unsigned i = 0; i < 3; i++) {
			static const size_t lengths[] = { 1, 700, 9000 };
			size_t last = at + lengths[i] < n ? at + lengths[i] - 1 : n - 1;
			struct h2d_req *req;

			snprintf(fields, sizeof(fields), "range: bytes=%zu-%zu\n", at, last);
			req = ask_tar(fields);
			ck_assert_int_eq(req->reply.status, 206);
			ck_assert_uint_eq(req->reply.body.left, last - at + 1);
			part = read_all(req, 300);
			ck_assert_mem_eq(part, tar + at, last - at + 1);
			free(part);
			unit_end(req);
		}
	free(tar);
}

/* Also when the list goes away between any two pieces. */
TEST_EACH(several_parts, 2)
{
	size_t n;
	char *tar = whole(&n), *parts, *at;
	struct h2d_req *req = ask_tar("range: bytes=5000-5999, 100-199, -1100\n");
	size_t length = req->reply.body.left;

	ck_assert_int_eq(req->reply.status, 206);
	parts = malloc(length);
	for (size_t done = 0; done < length;) {
		size_t want = length - done < 100 ? length - done : 100;
		ssize_t some = unit_read(req, parts + done, want);

		ck_assert_int_gt(some, 0);
		done += (size_t)some;
		/* body_parts.c has the archive's body first */
		if (_i == 1)
			listing_text_leave(((struct body *)req->reply.body.src)->src);
	}
	at = memmem(parts, length, tar + 5000, 1000);
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(memmem(at, length - (size_t)(at - parts), tar + 100, 100));
	ck_assert_ptr_nonnull(memmem(at, length - (size_t)(at - parts), tar + n - 1100, 1100));
	free(parts);
	free(tar);
	unit_end(req);
}

/* The list goes away between any two pieces, and comes back. */
TEST(without_its_list)
{
	size_t n, at = 0;
	char *tar = whole(&n), *got = malloc(n);
	struct h2d_req *req = ask_tar(NULL);

	while (at < n) {
		ssize_t some = unit_read(req, got + at, n - at < 999 ? n - at : 999);

		ck_assert_int_gt(some, 0);
		at += (size_t)some;
		listing_text_leave(req->reply.body.src);
		ck_assert_int_eq(counters->listing_bytes, 0);
	}
	ck_assert_mem_eq(got, tar, n);
	free(got);
	free(tar);
	unit_end(req);
}

/* Reads until the response fails. */
static void expect_failure(struct h2d_req *req)
{
	char piece[5000];
	ssize_t n;

	do {
		ck_assert_uint_gt(req->reply.body.left, 0);
		n = unit_read(req, piece,
			req->reply.body.left < sizeof(piece) ? req->reply.body.left
							     : sizeof(piece));
	} while (n > 0);
	ck_assert_int_eq(n, UNIT_FAILED);
	unit_end(req);
}

TEST_EACH(changes_under_it, 5)
{
	struct h2d_req *req = ask_tar(NULL);
	char piece[512];

	ck_assert_int_eq(unit_read(req, piece, sizeof(piece)), sizeof(piece));
	switch (_i) {
	case 0:
		ck_assert_int_eq(truncate(tree_path("d/large"), LARGE - 1), 0);
		break;
	case 1:
		tree_text("d/sub/x", "changed");
		break;
	case 2:
		ck_assert_int_eq(unlink(tree_path("d/sub/x")), 0);
		break;
	case 3:
		ck_assert_int_eq(rename(tree_path("d/b"), tree_path("d/sub/x")), 0);
		break;
	default:
		tree_text("d/new", "");
		listing_text_leave(req->reply.body.src);
	}
	expect_failure(req);
}

static bool is_weak(const struct h2d_req *req)
{
	return unit_field(req, "etag")[0] == 'W';
}

TEST(the_tag)
{
	struct h2d_req *req = ask_tar(NULL);
	char tag[100], fields[200];

	/* A change in this moment might not show. */
	ck_assert(is_weak(req));
	snprintf(tag, sizeof(tag), "%s", unit_field(req, "etag"));
	unit_end(req);
	snprintf(fields, sizeof(fields), "if-none-match: %s\n", tag);
	req = ask_tar(fields);
	ck_assert_int_eq(req->reply.status, 304);
	unit_end(req);
	snprintf(fields, sizeof(fields), "range: bytes=1-2\nif-range: %s\n", tag);
	req = ask_tar(fields);
	ck_assert_int_eq(req->reply.status, 200);
	unit_end(req);
	tree_text("d/b", "54321 and more");
	req = ask_tar(NULL);
	ck_assert_str_ne(unit_field(req, "etag"), tag);
	unit_end(req);
}

/* rsync -t sets the times of files and of their directories. */
TEST(the_tag_of_a_replaced_file)
{
	struct h2d_req *req;
	char tag[100];

	tree_text("new", "54321");
	tree_date("new", 784111777);
	tree_date("d/b", 784111777);
	tree_date("d", 784111777);
	req = ask_tar(NULL);
	snprintf(tag, sizeof(tag), "%s", unit_field(req, "etag"));
	unit_end(req);
	ck_assert_int_eq(rename(tree_path("new"), tree_path("d/b")), 0);
	tree_date("d", 784111777);
	req = ask_tar(NULL);
	ck_assert_str_ne(unit_field(req, "etag"), tag);
	unit_end(req);
}

#ifdef HAVE_ZLIB
TEST(zip)
{
	struct h2d_req *req = ask(H2D_GET, "x=y&archive=zip", "range: bytes=1-2\n"), *head;
	struct h2d_req *tar = ask_tar(NULL);
	size_t n;
	char *zip;

	ck_assert_int_eq(req->reply.status, 200);
	ck_assert_str_eq(unit_field(req, "accept-ranges"), "none");
	ck_assert_str_eq(unit_field(req, "content-type"), "application/zip");
	ck_assert_ptr_nonnull(strstr(unit_field(req, "content-disposition"), "filename=\"d.zip\""));
	n = req->reply.body.left;
	zip = read_all(req, 20000);
	ck_assert_mem_eq(zip, "PK\3\4", 4);
	ck_assert_mem_eq(zip + n - 22, "PK\5\6", 4);
	ck_assert_ptr_nonnull(memmem(zip, n, large, LARGE));
	free(zip);
	head = ask(H2D_HEAD, "archive=zip", NULL);
	ck_assert_uint_eq(head->reply.body.left, n);
	ck_assert_str_eq(unit_field(head, "etag"), unit_field(req, "etag"));
	ck_assert_str_ne(unit_field(tar, "etag"), unit_field(req, "etag"));
	unit_end(tar);
	unit_end(head);
	unit_end(req);
}
#endif

/* What a location refuses is left out, and said. */
TEST_EACH(rules_inside, 5)
{
	struct h2d_req *req;
	size_t n;
	char *tar;

	guarded[0] = unit_site.all;
	guarded[0].prefix = _i == 0 ? SLICE("/d/sub/x") : SLICE("/d/sub/");
	guarded[0].refused_methods = _i < 2 ? 1u << H2D_GET | 1u << H2D_HEAD : 0;
	if (_i == 2)
		guarded[0].archives &= ~(1u << ARCHIVE_TAR);
	if (_i == 3)
		guarded[0].root = 1;
	if (_i == 4)
		guarded[0].redirect.to = SLICE("/elsewhere/");
	unit_site.guarded = _i < 2;
	unit_site.locations = guarded;
	unit_site.nlocations = 1;
	req = ask_tar(NULL);
	ck_assert_int_eq(req->reply.status, 200);
	ck_assert_str_eq(unit_field(req, "archive-left-out"), "1");
	n = req->reply.body.left;
	tar = read_all(req, 50000);
	ck_assert(has(tar, n, "d/b", "12345") && !has(tar, n, "d/sub/x", ""));
	ck_assert(has(tar, n, "d/sub/", "") == (_i == 0));
	free(tar);
	unit_end(req);
}

TEST(hidden_inside)
{
	static const struct slice hide[] = { SLICE_LIT("x"), SLICE_LIT("lar*") };
	size_t n;
	char *tar;

	unit_site.all.hide = hide;
	unit_site.all.nhide = 2;
	unit_site.hides = true;
	tar = whole(&n);
	ck_assert(has(tar, n, "d/b", "12345"));
	ck_assert(!has(tar, n, "d/sub/x", "") && !has(tar, n, "d/large", ""));
	free(tar);
}

TEST(not_asked_or_not_allowed)
{
	static const char *const queries[] = { "", "archive", "archive=", "archive=rar",
		"xarchive=tar", "archive=tar.gz" };
	struct h2d_req *req;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		req = ask(H2D_GET, queries[i], NULL);

		ck_assert_int_eq(req->reply.status, 404);
		unit_end(req);
	}
	unit_site.all.archives = 0;
	req = ask_tar(NULL);
	ck_assert_int_eq(req->reply.status, 404);
	unit_end(req);
}

/* Longer than a path may be, which a file or a directory of it could not have. */
TEST(a_long_path)
{
	char path[PATH_MAX + 10];
	struct h2d_req *req = unit_new(H2D_GET, NULL);

	memset(path, 'x', sizeof(path));
	path[0] = path[sizeof(path) - 2] = '/';
	path[sizeof(path) - 1] = '\0';
	req->path = slice_str(path);
	req->query = SLICE("archive=tar");
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, path, req->path.n);
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 404);
	unit_end(req);
}

TEST(deep)
{
	char path[500] = "d";
	struct h2d_req *req;

	for (int i = 0; i < ARCHIVE_DEPTH_MAX - 1; i++) {
		strcat(path, "/s");
		tree_dir(path);
	}
	req = ask_tar(NULL);
	ck_assert_int_eq(req->reply.status, 200);
	unit_end(req);
	strcat(path, "/s");
	tree_dir(path);
	req = ask_tar(NULL);
	ck_assert_int_eq(req->reply.status, 403);
	unit_end(req);
}

TEST(sparse_beyond_all_numbers)
{
	struct h2d_req *req;
	unsigned n = 0;

	for (; n < 3; n++) {
		char name[] = "d/sparse0";

		name[8] = (char)('0' + n);
		tree_text(name, "");
		if (truncate(tree_path(name), INT64_MAX / 2) < 0)
			break;
	}
	req = ask_tar(NULL);
	/* Not every file system has such files. */
	ck_assert_int_eq(req->reply.status, n == 3 ? 403 : 200);
	unit_end(req);
}

TEST(as_slow_as_it_may_be)
{
	size_t n, slow;
	char *tar = whole(&n), *again;

	unit_be_slow();
	again = whole(&slow);
	ck_assert_uint_eq(n, slow);
	ck_assert_mem_eq(tar, again, n);
	free(tar);
	free(again);
}

TEST(gone_at_any_time)
{
	for (unsigned pieces = 0; pieces < 12; pieces++) {
		struct h2d_req *req = ask_tar(NULL);
		char piece[5000];

		for (unsigned i = 0; i < pieces; i++)
			unit_read(req, piece, sizeof(piece));
		unit_end(req);
		unit_settle();
	}
}

TEST(so_many_at_once)
{
	struct h2d_req *reqs[ARCHIVES_MAX + 1];

	unit_conn = &unit_takes; /* the log has its address */
	for (unsigned i = 0; i <= ARCHIVES_MAX; i++)
		reqs[i] = ask_tar(NULL);
	ck_assert_int_eq(reqs[ARCHIVES_MAX - 1]->reply.status, 200);
	ck_assert_int_eq(reqs[ARCHIVES_MAX]->reply.status, 503);
	ck_assert_str_eq(unit_field(reqs[ARCHIVES_MAX], "retry-after"), "1");
	for (unsigned i = 0; i <= ARCHIVES_MAX; i++)
		unit_end(reqs[i]);
}

TEST(states)
{
	states_unit_walk(&archive_states,
		"LIST>NEXT LIST>FAILED NEXT>LIST NEXT>TEXT NEXT>OPEN NEXT>FAILED TEXT>NEXT "
		"OPEN>FILE OPEN>FAILED FILE>NEXT",
		NULL);
}
