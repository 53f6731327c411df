/*
 * listing_page: sorts the entries of a directory and writes them as JSON, or as a page that reads
 * well in light and dark, wide and narrow, and needs no other file. Called by listing_read.c in
 * threads; it makes no system call.
 */
#include "files/listing_page.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/human.h"
#include "base/json.h"
#include "files/archive.h"
#include "http/page.h"
#include "http/urlencoded.h"
#include "src/files/page_parts.h"

enum {
	LINKS_UP = 32, /* of the directories above, of which there may be thousands */
	DATE_LEN = 20,
	QUERY_PAIRS = 8, /* a query with more is ignored */
	FIND_FROM = 20,  /* entries: fewer need no field to find names */
};

static const struct {
	const char *key, *title;
	bool descending; /* at first: sizes and dates */
} columns[LISTING_SORTS] = {
	[LISTING_NAME] = { "name", "Name", false },
	[LISTING_SIZE] = { "size", "Size", true },
	[LISTING_DATE] = { "date", "Modified", true },
};

struct listing_view listing_page_view(char *query, size_t n)
{
	struct listing_view view = { .page = 1, .find = "" };
	struct field pairs[QUERY_PAIRS];
	size_t npairs = urlencoded_count(slice_of(query, n));

	if (npairs > QUERY_PAIRS)
		return view;
	urlencoded_decode(query, n, pairs);
	for (size_t i = 0; i < npairs; i++) {
		struct slice name = pairs[i].name, value = pairs[i].value;

		for (enum listing_sort sort = 0; sort < LISTING_SORTS; sort++)
			if (slice_eq(name, SLICE("sort")) &&
				slice_eq(value, slice_str(columns[sort].key)))
				view.sort = sort;
		if (slice_eq(name, SLICE("order")))
			view.descending = slice_eq(value, SLICE("desc"));
		else if (slice_eq(name, SLICE("page")))
			view.page = (unsigned)strtoul(value.p, NULL, 10);
		else if (slice_eq(name, SLICE("q")))
			view.find = value.p;
	}
	return view;
}

static int by_bytes(struct slice a, struct slice b)
{
	int rc = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return rc != 0 ? rc : (a.n > b.n) - (a.n < b.n);
}

static bool is_digit(struct slice s)
{
	return s.n > 0 && *s.p >= '0' && *s.p <= '9';
}

/* Cuts the number that s begins with off it, without leading zeros. */
static struct slice take_number(struct slice *s)
{
	const char *p;

	for (; s->n > 1 && *s->p == '0' && s->p[1] >= '0' && s->p[1] <= '9'; s->n--)
		s->p++;
	for (p = s->p; is_digit(*s); s->n--)
		s->p++;
	return slice_of(p, (size_t)(s->p - p));
}

/* Compares numbers in names by value: "file2" before "file10". Case does not matter. */
static int by_parts(struct slice a, struct slice b)
{
	int rc = 0;

	while (rc == 0 && a.n > 0 && b.n > 0) {
		if (is_digit(a) && is_digit(b)) {
			struct slice x = take_number(&a), y = take_number(&b);

			rc = x.n != y.n ? (x.n > y.n) - (x.n < y.n) : by_bytes(x, y);
		} else {
			rc = tolower((unsigned char)*a.p) - tolower((unsigned char)*b.p);
			a = slice_of(a.p + 1, a.n - 1);
			b = slice_of(b.p + 1, b.n - 1);
		}
	}
	return rc != 0 ? rc : (a.n > b.n) - (a.n < b.n);
}

static int by_name(struct slice a, struct slice b)
{
	int rc = by_parts(a, b);

	/* names that differ only in case or leading zeros are ordered, too */
	return rc != 0 ? rc : by_bytes(a, b);
}

static int compare_entries(const void *pa, const void *pb, void *ctx)
{
	const struct listing_entry *a = pa, *b = pb;
	const struct listing_view *view = ctx;
	int rc = 0;

	if (a->dir != b->dir)
		return a->dir ? -1 : 1;
	if (view->sort == LISTING_SIZE && !a->dir)
		rc = (a->size > b->size) - (a->size < b->size);
	else if (view->sort == LISTING_DATE)
		rc = (a->mtime_ns > b->mtime_ns) - (a->mtime_ns < b->mtime_ns);
	else if (view->sort == LISTING_NAME)
		rc = by_name(a->name, b->name);
	if (rc == 0)
		return by_name(a->name, b->name);
	return view->descending ? -rc : rc;
}

void listing_page_sort(struct listing_page *page)
{
	if (page->n > 0)
		qsort_r(page->entries, page->n, sizeof(*page->entries), compare_entries,
			&page->view);
}

/* Seconds as "2024-01-31T23:59:59Z"; n 0: a year not of four digits. */
static struct slice date_text(int64_t mtime_ns, char date[DATE_LEN + 1])
{
	const int64_t second = 1000000000;
	/* rounded down, before 1970 too */
	time_t t = mtime_ns / second - (mtime_ns % second < 0);
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL || tm.tm_year + 1900 < 1000 || tm.tm_year + 1900 > 9999)
		return slice_of(date, 0);
	return slice_of(date, strftime(date, DATE_LEN + 1, "%Y-%m-%dT%H:%M:%SZ", &tm));
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_entry(const struct listing_entry *e, struct strbuf *t)
{
	const char *slash = e->dir ? "/" : "";
	char buf[DATE_LEN + 1];
	struct slice date = date_text(e->mtime_ns, buf);

	strbuf_add(t, SLICE("{\"name\":\""));
	json_add(t, e->name);
	strbuf_add(t, SLICE("\",\"href\":\"./"));
	strbuf_url(t, e->name);
	strbuf_printf(t, "%s\",\"type\":\"%s\",\"size\":", slash, e->dir ? "directory" : "file");
	if (e->dir)
		strbuf_add(t, SLICE("null"));
	else
		strbuf_printf(t, "%" PRIu64, e->size);
	if (date.n > 0)
		strbuf_printf(t, ",\"mtime\":\"%.*s\"}", SLICE_ARG(date));
	else
		strbuf_add(t, SLICE(",\"mtime\":null}"));
}

void listing_page_json(struct listing_page *page, struct strbuf *t)
{
	strbuf_add(t, SLICE("["));
	for (unsigned i = 0; i < page->n; i++) {
		if (t->n >= LISTING_JSON_MAX) {
			page->cut = true;
			break;
		}
		strbuf_add(t, i > 0 ? SLICE(",\n") : SLICE("\n"));
		json_entry(&page->entries[i], t);
	}
	strbuf_add(t, SLICE("\n]\n"));
}

/* --- HTML ------------------------------------------------------------------------------------- */

/* The path, with each name a relative link, so that a proxy may serve it elsewhere. */
static void heading(const struct slice path, struct strbuf *t)
{
	unsigned up = 0;
	size_t at = 0;

	for (size_t i = 1; i < path.n; i++)
		up += path.p[i] == '/';
	strbuf_add(t, SLICE("<h1>Index of "));
	while (at < path.n) {
		const char *end = memchr(path.p + at, '/', path.n - at);
		struct slice name = slice_of(path.p + at, (size_t)(end - path.p) - at);
		bool link = up <= LINKS_UP;

		if (link) {
			strbuf_add(t, SLICE("<a href=\"./"));
			for (unsigned i = 0; i < up; i++)
				strbuf_add(t, SLICE("../"));
			strbuf_add(t, SLICE("\">"));
		}
		strbuf_add(t, SLICE("<bdi>"));
		strbuf_html(t, name);
		strbuf_add(t, SLICE("/</bdi>"));
		if (link)
			strbuf_add(t, SLICE("</a>"));
		at += name.n + 1;
		up--;
	}
	strbuf_add(t, SLICE("</h1>\n"));
}

/* The start of a link to a view of this directory. */
static void link_to(const struct listing_view *view, struct strbuf *t)
{
	strbuf_printf(t, "<a href=\"?sort=%s&amp;order=%s", columns[view->sort].key,
		view->descending ? "desc" : "asc");
	if (view->find[0] != '\0') {
		strbuf_add(t, SLICE("&amp;q="));
		strbuf_url(t, slice_str(view->find));
	}
	if (view->page > 1)
		strbuf_printf(t, "&amp;page=%u", view->page);
	strbuf_add(t, SLICE("\">"));
}

/* A column's name, which sorts by it. */
static void column(const struct listing_view *view, enum listing_sort sort, struct strbuf *t)
{
	bool current = view->sort == sort, down = view->descending;
	struct listing_view next = { sort, current ? !down : columns[sort].descending, 1,
		view->find };

	strbuf_add(t, SLICE("<th scope=\"col\""));
	if (current)
		strbuf_printf(t, " aria-sort=\"%s\"", down ? "descending" : "ascending");
	strbuf_add(t, SLICE(">"));
	link_to(&next, t);
	strbuf_printf(t, "%s%s</a></th>", columns[sort].title,
		!current ? ""
		: down   ? " \u2193"
			 : " \u2191");
}

static void size_cell(uint64_t size, struct strbuf *t)
{
	char text[HUMAN_SIZE];

	strbuf_printf(t, "<td title=\"%" PRIu64 " byte%s\">%s</td>", size, size == 1 ? "" : "s",
		human_bytes(text, size));
}

static void date_cell(int64_t mtime_ns, struct strbuf *t)
{
	char buf[DATE_LEN + 1];
	struct slice date = date_text(mtime_ns, buf);

	if (date.n == 0)
		strbuf_add(t, SLICE("<td>\u2013</td>"));
	else
		strbuf_printf(t,
			"<td><time datetime=\"%.*s\" title=\"%.*s\">%.10s %.5s</time></td>",
			SLICE_ARG(date), SLICE_ARG(date), buf, buf + 11);
}

static void row(const struct listing_entry *e, struct strbuf *t)
{
	struct slice slash = e->dir ? SLICE("/") : SLICE("");

	strbuf_printf(t, "<tr><td><a%s href=\"./", e->dir ? " class=\"d\"" : "");
	strbuf_url(t, e->name);
	strbuf_add(t, slash);
	strbuf_add(t, SLICE("\"><bdi>"));
	strbuf_html(t, e->name);
	strbuf_add(t, SLICE("</bdi>"));
	strbuf_add(t, slash);
	strbuf_add(t, SLICE("</a></td>"));
	if (e->dir)
		strbuf_add(t, SLICE("<td>\u2013</td>"));
	else
		size_cell(e->size, t);
	date_cell(e->mtime_ns, t);
	strbuf_add(t, SLICE("</tr>\n"));
}

static void summary(const struct listing_page *page, struct strbuf *t)
{
	unsigned dirs = 0, files;
	uint64_t bytes = 0;
	char text[HUMAN_SIZE];

	for (unsigned i = 0; i < page->n; i++) {
		dirs += page->entries[i].dir;
		bytes += page->entries[i].dir ? 0 : page->entries[i].size;
	}
	files = page->n - dirs;
	if (page->n == 0)
		strbuf_printf(t, "<p>%s.</p>\n",
			page->view.find[0] != '\0' ? "No name contains this text"
						   : "Nothing is here");
	else
		strbuf_printf(t, "<p>%u director%s, %u file%s, %s%s; times are UTC</p>\n", dirs,
			dirs == 1 ? "y" : "ies", files, files == 1 ? "" : "s",
			human_bytes(text, bytes),
			page->cut ? ", and more that are not listed" : "");
}

/* A field that finds names, where there are more than one sees at once. */
static void finder(const struct listing_page *page, struct strbuf *t)
{
	const struct listing_view *view = &page->view;

	if (page->n < FIND_FROM && view->find[0] == '\0')
		return;
	strbuf_printf(t, "<form class=\"find\" role=\"search\"><input type=\"search\" name=\"q\" "
			 "aria-label=\"Find names\" placeholder=\"Find names\" value=\"");
	strbuf_html(t, slice_str(view->find));
	strbuf_printf(t,
		"\"><input type=\"hidden\" name=\"sort\" value=\"%s\">"
		"<input type=\"hidden\" name=\"order\" value=\"%s\"></form>\n",
		columns[view->sort].key, view->descending ? "desc" : "asc");
}

static void turn(struct listing_view view, unsigned page, const char *text, struct strbuf *t)
{
	view.page = page;
	link_to(&view, t);
	strbuf_printf(t, "%s</a> ", text);
}

/* Links to the pages beside this one. */
static void pager(const struct listing_view *view, unsigned pages, struct strbuf *t)
{
	if (pages <= 1)
		return;
	strbuf_add(t, SLICE("<nav aria-label=\"Pages\">"));
	if (view->page > 1)
		turn(*view, view->page - 1, "Previous", t);
	strbuf_printf(t, "Page %u of %u ", view->page, pages);
	if (view->page < pages)
		turn(*view, view->page + 1, "Next", t);
	strbuf_add(t, SLICE("</nav>\n"));
}

static void archives(unsigned kinds, struct strbuf *t)
{
	const char *before = "<p>Download all:";

	for (enum archive_kind kind = ARCHIVE_NONE + 1; kind < ARCHIVE_KINDS; kind++)
		if (kinds >> kind & 1) {
			const char *name = archive_formats[kind].name.p;

			strbuf_printf(t, "%s <a href=\"?archive=%s\">%s</a>", before, name, name);
			before = "";
		}
	if (kinds != 0)
		strbuf_add(t, SLICE("</p>\n"));
}

/* Unchanged; of the control characters, only newlines and tabs are kept. */
static void readme(struct slice text, struct strbuf *t)
{
	strbuf_add(t, SLICE("<pre>\n"));
	while (text.n > 0) {
		size_t n = 0;

		while (n < text.n && strchr("\n\t\r", text.p[n]) == NULL)
			n++;
		strbuf_html(t, slice_of(text.p, n));
		if (n < text.n && text.p[n] != '\r')
			strbuf_add(t, slice_of(text.p + n, 1));
		n += n < text.n;
		text = slice_of(text.p + n, text.n - n);
	}
	strbuf_add(t, SLICE("</pre>\n"));
}

/* The form for uploads into the directory: works without scripts; with them files can be dropped,
 * and each shows its progress. */
static void form(const struct listing_page *page, struct strbuf *t)
{
	strbuf_printf(t, "<style>%s</style>\n<form method=\"post\"%s action=\"", FORM_CSS,
		page->drive ? " data-drive" : "");
	strbuf_html(t, page->action);
	strbuf_add(t, SLICE("\" enctype=\"multipart/form-data\">\n"
			    "<label for=\"file\">Upload files</label>\n"
			    "<input id=\"file\" name=\"file\" type=\"file\" multiple required>\n"
			    "<button>Upload</button>\n<p role=\"status\"></p>\n<ul></ul>\n</form>\n"
			    "<script>" FORM_JS "</script>\n"));
}

void listing_page_html(struct listing_page *page, struct strbuf *t)
{
	struct listing_view *view = &page->view;
	unsigned pages = (page->n + LISTING_ROWS - 1) / LISTING_ROWS;

	view->page = view->page > pages ? pages : view->page;
	view->page = view->page < 1 ? 1 : view->page;
	strbuf_add(t, slice_str(page_head));
	strbuf_add(t, SLICE("Index of "));
	strbuf_html(t, page->path);
	strbuf_printf(t,
		"</title>\n<meta name=\"description\" content=\"Files with their sizes and "
		"times\">\n%s</head>\n<body>\n<main>\n",
		page_list_style);
	heading(page->path, t);
	if (page->action.n > 0)
		form(page, t);
	finder(page, t);
	strbuf_add(t, SLICE("<table>\n<thead>\n<tr>"));
	for (enum listing_sort sort = 0; sort < LISTING_SORTS; sort++)
		column(view, sort, t);
	strbuf_add(t, SLICE("</tr>\n</thead>\n<tbody>\n"));
	if (page->path.n > 1)
		strbuf_add(t, SLICE("<tr><td><a class=\"d\" "
				    "href=\"../\">..</a></td><td></td><td></td></tr>\n"));
	for (unsigned i = (view->page - 1) * LISTING_ROWS;
		i < page->n && i < view->page * LISTING_ROWS; i++)
		row(&page->entries[i], t);
	strbuf_add(t, SLICE("</tbody>\n</table>\n"));
	pager(view, pages, t);
	summary(page, t);
	archives(page->archives, t);
	if (page->readme.n > 0)
		readme(slice_of(page->readme.p, page->readme.n), t);
	if (page->action.n > 0)
		strbuf_add(t, SLICE("<script>" EDIT_JS "</script>\n"));
	strbuf_add(t, SLICE("<script>" LIST_JS "</script>\n</main>\n</body>\n</html>\n"));
}
