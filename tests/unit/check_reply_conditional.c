/*
 * check_reply_conditional: ranges, codings and what goes with them, the same from the image, the
 * disk, and a slow disk.
 */
#include "files/reply_file.h"
#include "files_unit.h"
#include "unit.h"

enum { DISK, IMAGE, SLOW, WAYS, LARGE = 200001 };

static char *data;

UNIT_SETUP(start)
{
	data = tree_bytes(LARGE, 9);
}

UNIT_TEARDOWN(stop)
{
	free(data);
}

static void begin(int way)
{
	if (way == IMAGE)
		unit_publish(1);
	if (way == SLOW)
		unit_be_slow();
}

/* RFC 9110, 8.8.3.2 and 13.1.5: a weak tag matches if-none-match alone, and a range needs none. */
TEST_EACH(weak_tag, WAYS)
{
	enum { LONG = (1 << 20) + 1 };
	char *bytes = tree_bytes(LONG, 1), tag[ETAG_MAX], fields[200];
	static const struct {
		const char *name;
		int status;
	} cases[] = { { "if-none-match", 304 }, { "if-match", 412 }, { "if-range", 200 } };
	struct h2d_req *req;

	tree_write("long", bytes, LONG);
	free(bytes);
	begin(_i);
	req = unit_answer(H2D_GET, "/long", "range: bytes=0-0\n");
	ck_assert_int_eq(req->reply.status, 206);
	strcpy(tag, unit_field(req, "etag"));
	unit_end(req);
	ck_assert(strncmp(tag, "W/\"", 3) == 0);
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(fields, sizeof(fields), "%s: %s\nrange: bytes=0-0\n", cases[i / 2].name,
			tag + (i % 2 == 0 ? 0 : 2));
		req = unit_answer(H2D_GET, "/long", fields);
		ck_assert_int_eq(req->reply.status, cases[i / 2].status);
		unit_end(req);
	}
}

TEST_EACH(unsatisfiable, WAYS)
{
	struct h2d_req *req;

	tree_write("f.txt", data, LARGE);
	tree_write("empty", data, 0);
	begin(_i);
	req = unit_answer(H2D_GET, "/f.txt", "range: bytes=200001-\n");
	ck_assert_int_eq(req->reply.status, 416);
	ck_assert_str_eq(unit_field(req, "content-range"), "bytes */200001");
	ck_assert_str_eq(unit_field(req, "accept-ranges"), "bytes");
	ck_assert_str_eq(unit_field(req, "etag"), "");
	unit_end(req);
	req = unit_answer(H2D_GET, "/empty", "range: bytes=0-\n");
	ck_assert_int_eq(req->reply.status, 416);
	ck_assert_str_eq(unit_field(req, "content-range"), "bytes */0");
	unit_end(req);
	req = unit_answer(H2D_GET, "/empty", "range: bytes=-5\n");
	ck_assert_int_eq(req->reply.status, 200);
	unit_end(req);
	/* Conditions come first (RFC 9110, 13.2.2). */
	req = unit_answer(H2D_GET, "/f.txt", "range: bytes=200001-\nif-none-match: *\n");
	ck_assert_int_eq(req->reply.status, 304);
	ck_assert_str_eq(unit_field(req, "accept-ranges"), "bytes");
	ck_assert_str_eq(unit_field(req, "content-range"), "");
	unit_end(req);
	req = unit_answer(H2D_GET, "/f.txt", "range: bytes=200001-\nif-match: \"x\"\n");
	ck_assert_int_eq(req->reply.status, 412);
	unit_end(req);
}

/* Small ones come out of what was read for the hash, large ones piece by piece. */
static void several(size_t size)
{
	char wanted[512], *expected = malloc(LARGE + 1000), boundary[40] = "";
	size_t middle, n;
	struct h2d_req *req;

	req = unit_answer(H2D_GET, "/f.txt", "range: bytes=-5,0-2,30-30000\n");
	ck_assert_int_eq(req->reply.status, 206);
	ck_assert_str_eq(unit_field(req, "content-range"), "");
	ck_assert_int_eq(sscanf(unit_field(req, "content-type"),
				 "multipart/byteranges; boundary=%39s", boundary),
		1);
	middle = (size - 6 < 30000 ? size - 6 : 30000) - 30 + 1;
	n = 0;
#define ADD(p, len) (memcpy(expected + n, p, len), n += (len))
#define PART(at, len) \
	(snprintf(wanted, sizeof(wanted), \
		 "\r\n--%s\r\ncontent-type: text/plain; charset=utf-8\r\n" \
		 "content-range: bytes %zu-%zu/%zu\r\n\r\n", \
		 boundary, (size_t)(at), (size_t)(at) + (len)-1, size), \
		ADD(wanted, strlen(wanted)), ADD(data + (at), (len)))
	PART(size - 5, (size_t)5);
	PART(0, (size_t)3);
	PART(30, middle);
	snprintf(wanted, sizeof(wanted), "\r\n--%s--\r\n", boundary);
	ADD(wanted, strlen(wanted));
	unit_expect_body(req, expected, n);
	unit_end(req);
	free(expected);
}

TEST_EACH(several_ranges, WAYS)
{
	static const size_t sizes[] = { 40000, DISK_SMALL, DISK_SMALL + 1, LARGE };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		tree_write("f.txt", data, sizes[i]);
		tree_date("f.txt", 784111777);
		if (i == 0)
			begin(_i);
		else if (_i == IMAGE)
			unit_publish(i + 1);
		/* Twice: with and without its hash remembered. */
		several(sizes[i]);
		several(sizes[i]);
	}
	unit_settle();
	ck_assert_uint_eq(unit_files->disk->small.live + unit_files->disk->large.live, 0);
}

/* The file is edited between two parts. */
TEST_EACH(edited_between_parts, WAYS)
{
	struct h2d_req *req;
	char got[4096];
	ssize_t n;

	tree_write("f.txt", data, LARGE);
	tree_date("f.txt", 784111777);
	begin(_i);
	req = unit_answer(H2D_GET, "/f.txt", "range: bytes=0-9,100000-100009\n");
	do
		n = unit_read(req, got, sizeof(got));
	while (n > 0 && n != 10);
	ck_assert_mem_eq(got, data, 10);
	tree_write("f.txt", data + 1, LARGE - 1);
	do
		n = unit_read(req, got, sizeof(got));
	while (n > 0 && req->reply.body.left > 0);
	ck_assert_int_eq(n == UNIT_FAILED, _i != IMAGE);
	unit_end(req);
}

/* --- codings ---------------------------------------------------------------------------------- */

/* From the disk: path is answered with body, or "in gzip", as it lies beside it. */
static void sent(const char *path, const char *fields, int status, const char *coding,
	const char *vary, const char *body)
{
	struct h2d_req *req = unit_answer(H2D_GET, path, fields);
	char coded[16];

	ck_assert_msg(req->reply.status == status, "%s: %s: %d", path, fields, req->reply.status);
	ck_assert_str_eq(unit_field(req, "vary"), vary);
	if (status != 406)
		ck_assert_str_eq(unit_field(req, "content-encoding"), coding);
	if (status == 200) {
		ck_assert_str_eq(unit_field(req, "last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
		snprintf(coded, sizeof(coded), "in %s", coding);
		body = coding[0] != '\0' ? coded : body;
		unit_expect_body(req, body, strlen(body));
	}
	unit_end(req);
}

static void put(const char *name, const char *text, time_t t)
{
	tree_text(name, text);
	tree_date(name, t);
}

#define AE   "accept-encoding: "
#define VARY "accept-encoding"

TEST_EACH(beside, 2)
{
	const time_t t = 784111777;

	put("a.css", "identity", t);
	put("a.css.gz", "in gzip", t);
	put("a.css.br", "in br", t + 1);
	put("a.css.zst", "old", t - 1);
	put("b.css", "identity", t);
	put("c.png", "identity", t);
	put("c.png.gz", "in gzip", t);
	put("d.css", "identity", t);
	tree_dir("d.css.gz");
	tree_link("/etc/passwd", "d.css.br");
	begin(_i ? SLOW : DISK);
	sent("/a.css", NULL, 200, "", VARY, "identity");
	sent("/a.css", AE "gzip\n", 200, "gzip", VARY, "identity");
	sent("/a.css", AE "gzip, br\n", 200, "br", VARY, "identity");
	sent("/a.css", AE "gzip, br;q=0.5\n", 200, "gzip", VARY, "identity");
	sent("/a.css", AE "zstd\n", 200, "", VARY, "identity");
	sent("/a.css", AE "zstd, gzip;q=0.1\n", 200, "gzip", VARY, "identity");
	sent("/a.css", AE "*\n", 200, "br", VARY, "identity");
	sent("/a.css", AE "identity\n", 200, "", VARY, "identity");
	sent("/a.css", AE "identity, gzip;q=0.5\n", 200, "", VARY, "identity");
	sent("/a.css", AE "identity;q=0, gzip;q=0\n", 406, "", VARY, NULL);
	sent("/a.css", AE "zstd, *;q=0\n", 406, "", VARY, NULL);
	sent("/a.css", AE "zstd, gzip, *;q=0\n", 200, "gzip", VARY, "identity");
	/* Nothing beside it, and no codings of our own: nothing to vary by. */
	sent("/b.css", AE "gzip\n", 200, "", "", "identity");
	sent("/b.css", AE "identity;q=0\n", 200, "", "", "identity");
	sent("/d.css", AE "gzip, br\n", 200, "", "", "identity");
	sent("/c.png", AE "gzip\n", 200, "", "", "identity");
	/* The name of the coded file itself. */
	put("e.css", "identity", t);
	put("e.css.gz", "no gzip", t);
	sent("/e.css.gz", AE "gzip\n", 200, "", "", "no gzip");
	unit_site.all.precompressed = false;
	sent("/a.css", AE "gzip, br\n", 200, "", "", "identity");
	unit_site.all.precompressed = true;
	unit_files->codings = 1u << CODING_GZIP;
	sent("/a.css", AE "br\n", 200, "br", VARY, "identity");
	sent("/b.css", AE "gzip\n", 200, "", VARY, "identity");
	sent("/b.css", NULL, 200, "", VARY, "identity");
	sent("/b.css", AE "identity;q=0\n", 406, "", VARY, NULL);
	sent("/c.png", AE "identity;q=0\n", 200, "", "", "identity");
}

static void etag_of(const char *path, const char *fields, char etag[ETAG_MAX + 1])
{
	struct h2d_req *req = unit_answer(H2D_GET, path, fields);

	strcpy(etag, unit_field(req, "etag"));
	unit_end(req);
}

/* One tag for each coding, which is that of the bytes; vary with every status. */
TEST_EACH(coded_conditions, 2)
{
	char plain[ETAG_MAX + 1], coded[ETAG_MAX + 1], same[ETAG_MAX + 1], fields[200];
	struct h2d_req *req;

	put("a.css", "identity", 784111777);
	put("a.css.gz", "in gzip", 784111777);
	put("same", "in gzip", 784111777);
	begin(_i ? SLOW : DISK);
	etag_of("/a.css", NULL, plain);
	etag_of("/a.css", AE "gzip\n", coded);
	etag_of("/same", NULL, same);
	ck_assert_str_ne(plain, coded);
	ck_assert_str_eq(same, coded);
	for (int i = 0; i < 4; i++) {
		static const int status[] = { 304, 412, 206, 416 };
		static const char *const names[] = { "if-none-match", "if-match", "if-range",
			"if-range" };
		static const char *const more[] = { "", "", "range: bytes=0-4\n",
			"range: bytes=99-\n" };
		static const char *const ranges[] = { "", "", "bytes 0-4/7", "bytes */7" };

		snprintf(fields, sizeof(fields), AE "gzip\n%s: %s\n%s", names[i],
			i == 1 ? plain : coded, more[i]);
		req = unit_answer(H2D_GET, "/a.css", fields);
		ck_assert_int_eq(req->reply.status, status[i]);
		ck_assert_str_eq(unit_field(req, "vary"), VARY);
		ck_assert_str_eq(unit_field(req, "content-encoding"), i == 2 ? "gzip" : "");
		ck_assert_str_eq(unit_field(req, "content-range"), ranges[i]);
		unit_end(req);
	}
	/* Several parts of coded content: the whole instead. */
	sent("/a.css", AE "gzip\nrange: bytes=0-1,4-5\n", 200, "gzip", VARY, "identity");
}

TEST_EACH(coded_error_page, 2)
{
	const char *wanted;
	struct h2d_req *req;

	put("404.html", "plain", 784111777);
	put("404.html.gz", "in gzip", 784111777);
	begin(_i ? SLOW : DISK);
	for (int i = 0; i < 2; i++) {
		req = unit_new(H2D_GET, i ? AE "gzip\n" : AE "identity;q=0\n");
		/* A 406 has said so already. */
		ck_assert_int_eq(reply_add(req, SLICE("vary"), SLICE(VARY)), 0);
		reply_file_error_page(req, 404, SLICE("/404.html"));
		unit_wait(req);
		ck_assert_int_eq(req->reply.status, 404);
		ck_assert_str_eq(unit_field(req, "content-encoding"), i ? "gzip" : "");
		for (unsigned k = 1; k < req->reply.nfields; k++)
			ck_assert(!slice_eq(req->reply.fields[k].name, SLICE("vary")));
		wanted = i ? "in gzip" : "plain";
		unit_expect_body(req, wanted, strlen(wanted));
		unit_end(req);
	}
}
