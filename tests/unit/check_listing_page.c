/*
 * check_listing_page: what a page says of hostile names, sizes and dates; order; pages that are
 * cut. Names that break out of their place would show as markup that no test here expects.
 */
#include "files/listing_page.h"

#include "unit.h"

#define SECONDS(s) ((s)*INT64_C(1000000000))

/* The whole page as a string; NUL bytes are replaced, so that none hides the rest. */
static char *make(
	struct listing_page *page, void (*fn)(struct listing_page *page, struct strbuf *t))
{
	struct strbuf t = { 0 };

	fn(page, &t);
	ck_assert(!t.failed);
	ck_assert_ptr_null(memchr(t.p, '\0', t.n));
	strbuf_add(&t, slice_of("", 1));
	return t.p;
}

static struct listing_page page_of(const char *path, struct listing_entry *entries, unsigned n)
{
	return (struct listing_page){
		.path = slice_str(path), .view = { .find = "" }, .entries = entries, .n = n
	};
}

static struct listing_entry file(const char *name, uint64_t size, int64_t mtime_ns)
{
	return (struct listing_entry){ slice_str(name), size, mtime_ns, false };
}

static struct listing_entry dir(const char *name, int64_t mtime_ns)
{
	return (struct listing_entry){ slice_str(name), 4096, mtime_ns, true };
}

static void has(const char *page, const char *part)
{
	ck_assert_msg(strstr(page, part) != NULL, "no %s in %s", part, page);
}

static unsigned count(const char *page, const char *part)
{
	unsigned n = 0;

	for (const char *p = page; (p = strstr(p, part)) != NULL; p++)
		n++;
	return n;
}

/* A name, what it is in the attribute and what is read, and what JSON says. */
static const struct {
	const char *name, *href, *html, *json;
} names[] = {
	{ "plain.txt", "./plain.txt", "plain.txt", "plain.txt" },
	{ "a b", "./a%20b", "a b", "a b" },
	{ "<script>alert(1)</script>", "./%3Cscript%3Ealert%281%29%3C%2Fscript%3E",
		"&lt;script&gt;alert(1)&lt;/script&gt;", "<script>alert(1)</script>" },
	{ "\" onclick=\"x", "./%22%20onclick%3D%22x", "&quot; onclick=&quot;x",
		"\\\" onclick=\\\"x" },
	{ "' x='", "./%27%20x%3D%27", "&#39; x=&#39;", "' x='" },
	{ "a\nb\r\x01\x7f", "./a%0Ab%0D%01%7F", "a\u240ab\u240d\u2401\u2421",
		"a\\u000Ab\\u000D\\u0001\\u007F" },
	{ "\u202egpj.exe", "./%E2%80%AEgpj.exe", "[U+202E]gpj.exe", "\u202egpj.exe" },
	{ "what?x=1#top", "./what%3Fx%3D1%23top", "what?x=1#top", "what?x=1#top" },
	{ "100%", "./100%25", "100%", "100%" },
	{ "%41", "./%2541", "%41", "%41" },
	{ "%s%n", "./%25s%25n", "%s%n", "%s%n" },
	{ "javascript:alert(1)", "./javascript%3Aalert%281%29", "javascript:alert(1)",
		"javascript:alert(1)" },
	{ "//evil.example", "./%2F%2Fevil.example", "//evil.example", "//evil.example" },
	{ "\\evil", "./%5Cevil", "\\evil", "\\\\evil" },
	{ "&amp;", "./%26amp%3B", "&amp;amp;", "&amp;" },
	{ "caf\xe9", "./caf%E9", "caf\ufffd", "caf\ufffd" },
	{ "caf\u00e9", "./caf%C3%A9", "caf\u00e9", "caf\u00e9" },
	{ "\xe6\x97<b>", "./%E6%97%3Cb%3E", "\ufffd\ufffd&lt;b&gt;", "\ufffd\ufffd<b>" },
	{ "...", "./...", "...", "..." },
	{ "~", "./~", "~", "~" },
};

TEST_ROWS(test_name, names)
{
	struct listing_entry e[] = { file(names[_i].name, 1, 0), dir(names[_i].name, 0) };
	struct listing_page p = page_of("/", e, 2);
	char *html = make(&p, listing_page_html), *json = make(&p, listing_page_json);
	char want[512];

	snprintf(want, sizeof(want), "<tr><td><a href=\"%s\"><bdi>%s</bdi></a></td>",
		names[_i].href, names[_i].html);
	has(html, want);
	snprintf(want, sizeof(want), "<tr><td><a class=\"d\" href=\"%s/\"><bdi>%s</bdi>/</a></td>",
		names[_i].href, names[_i].html);
	has(html, want);
	snprintf(want, sizeof(want),
		"\n{\"name\":\"%s\",\"href\":\"%s\",\"type\":\"file\",\"size\":1,", names[_i].json,
		names[_i].href);
	has(json, want);
	snprintf(want, sizeof(want),
		"\n{\"name\":\"%s\",\"href\":\"%s/\",\"type\":\"directory\",\"size\":null,",
		names[_i].json, names[_i].href);
	has(json, want);
	ck_assert_uint_eq(count(html, "<tr>"), 3);
	free(html);
	free(json);
}

/* Names are in the title and the heading, too. */
TEST(test_path)
{
	struct listing_page p = page_of("/a<b>/\"c\"/", NULL, 0);
	char *html = make(&p, listing_page_html);

	has(html, "<title>Index of /a&lt;b&gt;/&quot;c&quot;/</title>");
	has(html, "<h1>Index of <a href=\"./../../\"><bdi>/</bdi></a>"
		  "<a href=\"./../\"><bdi>a&lt;b&gt;/</bdi></a>"
		  "<a href=\"./\"><bdi>&quot;c&quot;/</bdi></a></h1>");
	has(html, "href=\"../\">..</a>");
	has(html, "Nothing is here.");
	free(html);

	p.path = SLICE("/");
	html = make(&p, listing_page_html);
	has(html, "<h1>Index of <a href=\"./\"><bdi>/</bdi></a></h1>");
	ck_assert_ptr_null(strstr(html, ">..<"));
	free(html);
}

/* No part of a page comes from elsewhere, and only its own script runs. */
TEST(test_alone)
{
	struct listing_entry e[] = { file("x", 1, 0) };
	struct listing_page p = page_of("/d/", e, 1);
	char *html = make(&p, listing_page_html);

	for (const char *at = html; (at = strstr(at, "href=\"")) != NULL; at++)
		ck_assert(at[6] == '.' || at[6] == '?' || strncmp(at + 6, "data:,", 6) == 0);
	ck_assert_ptr_null(strstr(html, "src="));
	ck_assert_ptr_null(strstr(html, "url("));
	ck_assert_ptr_null(strstr(html, "http"));
	ck_assert_uint_eq(count(html, "<script"), 1);
	has(html, "prefers-color-scheme:dark");
	has(html, "width=device-width");
	free(html);
}

/* As deep as a path may be: not a page that grows with the square of it. */
TEST(test_deep)
{
	enum { DEPTH = 2000 };
	char path[2 * DEPTH + 2] = "/", *html;
	struct listing_page p;

	for (int i = 0; i < DEPTH; i++)
		strcat(path, "d/");
	p = page_of(path, NULL, 0);
	html = make(&p, listing_page_html);
	ck_assert_uint_lt(strlen(html), 200000);
	ck_assert_uint_eq(count(html, "d/</bdi>"), DEPTH);
	free(html);
}

static const struct {
	int64_t mtime_ns;
	const char *html, *json;
} dates[] = {
	{ 0,
		"<time datetime=\"1970-01-01T00:00:00Z\" title=\"1970-01-01T00:00:00Z\">1970-01-01 "
		"00:00<",
		"\"1970-01-01T00:00:00Z\"}" },
	{ SECONDS(1709210096) + 999999999, ">2024-02-29 12:34<", "\"2024-02-29T12:34:56Z\"}" },
	{ -1, ">1969-12-31 23:59<", "\"1969-12-31T23:59:59Z\"}" },
	{ INT64_MAX, ">2262-04-11 23:47<", "\"2262-04-11T23:47:16Z\"}" },
	{ INT64_MIN, ">1677-09-21 00:12<", "\"1677-09-21T00:12:43Z\"}" },
};

TEST_ROWS(test_date, dates)
{
	struct listing_entry e[] = { file("x", 1, dates[_i].mtime_ns) };
	struct listing_page p = page_of("/", e, 1);
	char *html = make(&p, listing_page_html), *json = make(&p, listing_page_json);

	has(html, dates[_i].html);
	has(json, dates[_i].json);
	free(html);
	free(json);
}

/* Names of which one begins with the other, and such that compare unlike their bytes. */
TEST(test_names_in_order)
{
	struct listing_entry e[] = {
		file("ab", 0, 0),
		file("a", 0, 0),
		file("AB", 0, 0),
		file("\xff", 0, 0),
		file("_", 0, 0),
		file("Z", 0, 0),
		file("abc", 0, 0),
	};
	static const char *const want[] = { "_", "a", "AB", "ab", "abc", "Z", "\xff" };
	struct listing_page p = page_of("/", e, 7);

	listing_page_sort(&p);
	for (unsigned i = 0; i < 7; i++)
		ck_assert_msg(slice_eq(p.entries[i].name, slice_str(want[i])), "%u: %.*s", i,
			SLICE_ARG(p.entries[i].name));
}

static const struct {
	const char *query, *link;
	unsigned page;
	const char *find;
} queries[] = {
	{ "", "?sort=size&amp;order=desc\">", 1, "" },
	{ "sort=size&order=desc&page=3", "?sort=size&amp;order=desc&amp;page=2\">", 3, "" },
	{ "q=a%20%26b&sort=date", "?sort=date&amp;order=asc&amp;q=a%20%26b&amp;page=2\">", 1,
		"a &b" },
	{ "page=99999999999999999999&q=%00x", "&amp;page=2\">", 3, "" },
	{ "page=-1&sort=colour&order=up", "&amp;page=2\">", 3, "" },
	{ "page=0&q=%3Cb%3E%22", "value=\"&lt;b&gt;&quot;\"", 1, "<b>\"" },
	{ "&=&&a=b&q", "?sort=name&amp;order=desc\">", 1, "" },
	{ "1&2&3&4&5&6&7&8&page=3", "&amp;page=2\">Next", 1, "" },
};

/* Each link keeps the text; a page after the last one is the last one. */
TEST_ROWS(test_view, queries)
{
	enum { N = 2 * LISTING_ROWS + 1 };
	struct listing_entry *e = calloc(N, sizeof(*e));
	struct listing_page p = page_of("/", e, N);
	char query[64], note[32], *html;

	ck_assert_ptr_nonnull(e);
	for (unsigned i = 0; i < N; i++)
		e[i] = file("x", 1, 0);
	strcpy(query, queries[_i].query);
	p.view = listing_page_view(query, strlen(query));
	ck_assert_str_eq(p.view.find, queries[_i].find);
	html = make(&p, listing_page_html);
	ck_assert_ptr_nonnull(strstr(html, queries[_i].link));
	snprintf(note, sizeof(note), "Page %u of 3 ", queries[_i].page);
	ck_assert_ptr_nonnull(strstr(html, note));
	ck_assert_uint_eq(count(html, "<tr><td>"), queries[_i].page < 3 ? LISTING_ROWS : 1);
	ck_assert_ptr_nonnull(
		strstr(html, "<p>0 directories, 2001 files, 2.0 KiB; times are UTC</p>"));
	free(html);
	free(e);
}

/* Too long a JSON text ends early, and is whole all the same. */
TEST(test_cut)
{
	enum { N = 40000 };
	struct listing_entry *e = calloc(N, sizeof(*e));
	struct listing_page p = page_of("/", e, N);
	char name[256], *html, *json;

	ck_assert_ptr_nonnull(e);
	memset(name, '"', 255);
	name[255] = '\0';
	for (unsigned i = 0; i < N; i++)
		e[i] = file(name, i, 0);
	json = make(&p, listing_page_json);
	ck_assert(p.cut);
	ck_assert_uint_lt(strlen(json), LISTING_JSON_MAX + 4096);
	has(json + LISTING_JSON_MAX - 4096, "}\n]\n");
	free(json);
	free(e);

	e = (struct listing_entry[]){ file("x", 1, 0) };
	p = page_of("/", e, 1);
	p.cut = true;
	html = make(&p, listing_page_html);
	has(html, "<p>0 directories, 1 file, 1 B, and more that are not listed; times");
	free(html);
}
