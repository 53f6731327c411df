/* check_mime: the table's order, every row found in any case, what an extension is, rows of a
 * configuration. */
#include "http/mime.h"

#include <ctype.h>

#include "unit_pure.h"

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

TEST(test_order)
{
	for (int i = 1; i < ROWS; i++)
		ck_assert_msg(strcmp(rows[i - 1].extension, rows[i].extension) < 0,
			"mime.def: \"%s\" stands before \"%s\"", rows[i - 1].extension,
			rows[i].extension);
}

TEST_EACH(test_row, ROWS)
{
	char lower[64], upper[64];
	const struct mime *m;

	snprintf(lower, sizeof(lower), "/some.dir/file.%s", rows[_i].extension);
	snprintf(upper, sizeof(upper), "FILE.%s", rows[_i].extension);
	for (char *c = upper; *c != '\0'; c++)
		*c = (char)toupper(*c);
	for (const char *c = rows[_i].extension; *c != '\0'; c++)
		ck_assert(islower(*c) || isdigit(*c));

	m = mime_find(NULL, slice_str(lower));
	ck_assert_msg(slice_eq(m->extension, slice_str(rows[_i].extension)), "%s", lower);
	ck_assert(slice_eq(m->type, slice_str(rows[_i].type)));
	ck_assert_int_eq(m->text, rows[_i].kind == TEXT);
	ck_assert_int_eq(m->compressible, rows[_i].kind != PACKED);
	ck_assert_ptr_eq(mime_find(NULL, slice_str(upper)), m);
	/* default-type is looked up by its type: an extension must not change what others are */
	ck_assert(!m->compressible || !slice_eq(m->type, SLICE("application/octet-stream")));
	/* a charset belongs to text, and only there */
	ck_assert_int_eq(m->text, slice_starts(m->type, SLICE("text/")));
}

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

TEST_ROWS(test_path, paths)
{
	const struct mime *m = mime_find(NULL, slice_str(paths[_i].path));

	ck_assert_msg(slice_eq(m->type, slice_str(paths[_i].type)), "%s", paths[_i].path);
}

static const struct {
	const char *text, *extension, *type;
	bool text_like, compressible;
	const char *why;
} rows_of_conf[] = {
	{ "foo: text/x-foo", "foo", "text/x-foo", true, true, NULL },
	{ "foo:text/x-foo", "foo", "text/x-foo", true, true, NULL },
	{ "FOO: Text/X", "FOO", "Text/X", true, true, NULL },
	{ "a: application/x+json", "a", "application/x+json", false, true, NULL },
	{ "a: image/x+XML", "a", "image/x+XML", false, true, NULL },
	{ "a: application/wasm", "a", "application/wasm", false, true, NULL },
	{ "a: image/png", "a", "image/png", false, false, NULL },
	{ "a: application/x-new", "a", "application/x-new", false, false, NULL },
	{ "a: text/", NULL, NULL, false, false, "write a media type" },
	{ "a: /x", NULL, NULL, false, false, "write a media type" },
	{ "a: ", NULL, NULL, false, false, "write a media type" },
	{ "a:", NULL, NULL, false, false, "write a media type" },
	{ "a: x y/z", NULL, NULL, false, false, "write a media type" },
	{ "a: x/y ", NULL, NULL, false, false, "write a media type" },
	{ "a: x/y;q=1", NULL, NULL, false, false, "remove the parameters" },
	{ "a", NULL, NULL, false, false, "EXTENSION: TYPE" },
	{ "", NULL, NULL, false, false, "EXTENSION: TYPE" },
	{ ": x/y", NULL, NULL, false, false, "one extension" },
	{ "a/b: x/y", NULL, NULL, false, false, "one extension" },
	{ "a.b: x/y", NULL, NULL, false, false, "one extension" },
	{ ".a: x/y", NULL, NULL, false, false, "without a dot" },
};

TEST_ROWS(test_parse, rows_of_conf)
{
	const char *text = rows_of_conf[_i].text;
	struct mime m;
	const char *why = mime_parse(text, &m);

	if (rows_of_conf[_i].why != NULL) {
		ck_assert_msg(why != NULL && strstr(why, rows_of_conf[_i].why) != NULL, "%s: %s",
			text, why);
		return;
	}
	ck_assert_msg(why == NULL, "%s: %s", text, why);
	ck_assert(slice_eq(m.extension, slice_str(rows_of_conf[_i].extension)));
	ck_assert(slice_eq(m.type, slice_str(rows_of_conf[_i].type)));
	ck_assert_msg(m.text == rows_of_conf[_i].text_like, "%s", text);
	ck_assert_msg(m.compressible == rows_of_conf[_i].compressible, "%s", text);
}

TEST(test_types)
{
	static const char *const texts[] = { "zzz: a/z", "CSS: a/css",
		"long-extension-of-its-own: a/l" };
	struct mime own[3];
	struct mime_types types = { .rows = own, .n = 3 }, other = types;

	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_null(mime_parse(texts[i], &own[i]));
	qsort(own, 3, sizeof(*own), mime_order);
	ck_assert_ptr_eq(mime_find(&types, SLICE("/x.css")), &own[0]);
	ck_assert_ptr_eq(mime_find(&types, SLICE("/x.Long-Extension-of-its-own")), &own[1]);
	ck_assert_ptr_eq(mime_find(&types, SLICE("/x.ZZZ")), &own[2]);
	ck_assert_ptr_eq(mime_find(&types, SLICE("/x.html")), mime_find(NULL, SLICE("/x.html")));
	ck_assert_ptr_eq(mime_find(&types, SLICE("/x")), mime_find(NULL, SLICE("/x")));
	ck_assert(mime_types_eq(&types, &other));
	ck_assert_ptr_null(mime_parse_type("text/x", &types.unknown));
	ck_assert_ptr_eq(mime_find(&types, SLICE("/x")), &types.unknown);
	ck_assert_ptr_eq(mime_find(&types, SLICE("/.css")), &types.unknown);
	ck_assert(!mime_types_eq(&types, &other));
	other = types;
	other.n = 2;
	ck_assert(!mime_types_eq(&types, &other));
}

/* What a list of patterns compresses; "auto" is what the table has. */
TEST(packed)
{
	static char by_itself[] = "auto", one[] = "image/x-RAW", kind[] = "audio/*", all[] = "*/*";
	static char *const list[] = { by_itself, one, kind, all }, *const others[] = { by_itself,
		kind, one, all };
	static const struct {
		const char *type;
		unsigned n; /* of the list */
		bool packs;
	} cases[] = { { "text/x", 0, false }, { "text/x", 1, true }, { "image/x-raw", 1, false },
		{ "image/x-raw", 2, true }, { "image/x-rawer", 2, false }, { "audio/x", 2, false },
		{ "audio/x", 3, true }, { "AUDIO/y", 3, true }, { "audiophile/y", 3, false },
		{ "audiophile/y", 4, true } };
	struct mime_types types = { .packed = list }, other = types;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mime m;

		ck_assert_ptr_null(mime_parse_type(cases[i].type, &m));
		types.npacked = cases[i].n;
		ck_assert_msg(mime_packs(&types, &m) == cases[i].packs, "%s", cases[i].type);
		ck_assert(mime_packs(NULL, &m) == m.compressible);
	}
	ck_assert(!mime_types_eq(&types, &other));
	other.npacked = types.npacked;
	ck_assert(mime_types_eq(&types, &other));
	other.packed = others;
	ck_assert(!mime_types_eq(&types, &other));
}
