/* check_mime: the table's order, every row found in any case, what an extension is. */
#include "http/mime.h"

#include <ctype.h>
#include <stdio.h>

#include "unit.h"

enum { PACKED = 0, DATA = 1, TEXT = 3 };

static const struct {
	const char *extension;
	int kind;
	const char *type;
} rows[] = {
#define MIME(ext, kind, type) { ext, kind, type },
#include "http/mime.def"
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

START_TEST(test_order)
{
	for (int i = 1; i < ROWS; i++)
		ck_assert_msg(strcmp(rows[i - 1].extension, rows[i].extension) < 0,
			"mime.def: \"%s\" stands before \"%s\"", rows[i - 1].extension,
			rows[i].extension);
}
END_TEST

START_TEST(test_row)
{
	char lower[64], upper[64];
	const struct mime *m;

	snprintf(lower, sizeof(lower), "/some.dir/file.%s", rows[_i].extension);
	snprintf(upper, sizeof(upper), "FILE.%s", rows[_i].extension);
	for (char *c = upper; *c != '\0'; c++)
		*c = (char)toupper(*c);
	for (const char *c = rows[_i].extension; *c != '\0'; c++)
		ck_assert(islower(*c) || isdigit(*c));

	m = mime_find(slice_str(lower));
	ck_assert_msg(slice_eq(m->extension, slice_str(rows[_i].extension)), "%s", lower);
	ck_assert(slice_eq(m->type, slice_str(rows[_i].type)));
	ck_assert_int_eq(m->text, rows[_i].kind == TEXT);
	ck_assert_int_eq(m->compressible, rows[_i].kind != PACKED);
	ck_assert_ptr_eq(mime_find(slice_str(upper)), m);
	/* a charset belongs to text, and only there */
	ck_assert_int_eq(m->text, slice_starts(m->type, SLICE("text/")));
}
END_TEST

static const struct {
	const char *path, *type;
} paths[] = {
	{ "/index.html", "text/html" },
	{ "/a/b.tar.gz", "application/gzip" },
	{ "/app.mjs", "text/javascript" },
	{ "/README.md", "text/markdown" },
	{ "/font.woff2", "font/woff2" },
	{ "x.Svg", "image/svg+xml" },
	{ ".x.css", "text/css" },
	{ "/", "application/octet-stream" },
	{ "", "application/octet-stream" },
	{ "/html", "application/octet-stream" },
	{ "/.html", "application/octet-stream" },
	{ ".html", "application/octet-stream" },
	{ "/a.html/b", "application/octet-stream" },
	{ "/a.html/", "application/octet-stream" },
	{ "/a.", "application/octet-stream" },
	{ "/a.htm ", "application/octet-stream" },
	{ "/a.ht", "application/octet-stream" },
	{ "/a.htmlx", "application/octet-stream" },
	{ "/a.unknown-extension-of-some-length", "application/octet-stream" },
	{ "/a.\xc3\xa4", "application/octet-stream" },
};

START_TEST(test_path)
{
	const struct mime *m = mime_find(slice_str(paths[_i].path));

	ck_assert_msg(slice_eq(m->type, slice_str(paths[_i].type)), "%s", paths[_i].path);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("mime");

	tcase_add_test(tc, test_order);
	tcase_add_loop_test(tc, test_row, 0, ROWS);
	tcase_add_loop_test(tc, test_path, 0, sizeof(paths) / sizeof(paths[0]));
	return tc;
}

UNIT_MAIN_PURE("mime")
