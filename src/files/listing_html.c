/*
 * listing_html: a directory as a page that reads well in light and dark, wide and narrow, and needs
 * neither scripts nor anything from elsewhere. See listing_page.h.
 */
#include <inttypes.h>

#include "base/human.h"
#include "files/listing_form.h"
#include "files/listing_page.h"
#include "http/page.h"

/* So many of the directories above are links; a path may have thousands. */
enum { LINKS_UP = 32 };

/* The path, each name of it a link there: relative ones, so that a proxy may serve it elsewhere. */
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

/* A column's name, which sorts by it; names from A, but the largest and the newest first. */
static void column(const struct listing_page *page, enum listing_sort sort, struct strbuf *t)
{
	static const struct {
		const char *key, *title;
		bool descending;
	} columns[LISTING_SORTS] = {
		[LISTING_NAME] = { "name", "Name", false },
		[LISTING_SIZE] = { "size", "Size", true },
		[LISTING_DATE] = { "date", "Modified", true },
	};
	bool current = page->order.sort == sort, down = page->order.descending;
	bool next = current ? !down : columns[sort].descending;

	strbuf_add(t, SLICE("<th scope=\"col\""));
	if (current)
		strbuf_printf(t, " aria-sort=\"%s\"", down ? "descending" : "ascending");
	strbuf_printf(t, "><a href=\"?sort=%s&amp;order=%s\">%s%s</a></th>", columns[sort].key,
		next ? "desc" : "asc", columns[sort].title,
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
	char buf[LISTING_DATE_LEN + 1];
	struct slice date = listing_page_date(mtime_ns, buf);

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

static void summary(const struct listing_page *page, unsigned shown, struct strbuf *t)
{
	unsigned dirs = 0;

	for (unsigned i = 0; i < shown; i++)
		dirs += page->entries[i].dir;
	if (page->cut)
		strbuf_printf(
			t, "<p>There is more here than this page shows: %u entries.</p>\n", shown);
	else if (shown == 0)
		strbuf_add(t, SLICE("<p>Nothing is here.</p>\n"));
	else
		strbuf_printf(t, "<p>%u director%s, %u file%s; times are UTC</p>\n", dirs,
			dirs == 1 ? "y" : "ies", shown - dirs, shown - dirs == 1 ? "" : "s");
}

/* As it is; of the control characters, ends of lines and tabs mean something there. */
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

void listing_page_html(struct listing_page *page, struct strbuf *t)
{
	unsigned i;

	strbuf_add(t, slice_str(page_head));
	strbuf_add(t, SLICE("Index of "));
	strbuf_html(t, page->path);
	strbuf_printf(t, "</title>\n%s</head>\n<body>\n<main>\n", page_list_style);
	heading(page->path, t);
	if (page->action.n > 0)
		listing_form_write(page->action, t);
	strbuf_add(t, SLICE("<table>\n<thead>\n<tr>"));
	for (enum listing_sort sort = 0; sort < LISTING_SORTS; sort++)
		column(page, sort, t);
	strbuf_add(t, SLICE("</tr>\n</thead>\n<tbody>\n"));
	if (page->path.n > 1)
		strbuf_add(t, SLICE("<tr><td><a class=\"d\" "
				    "href=\"../\">..</a></td><td></td><td></td></tr>\n"));
	for (i = 0; i < page->n; i++) {
		if (t->n >= LISTING_PAGE_MAX) {
			page->cut = true;
			break;
		}
		row(&page->entries[i], t);
	}
	strbuf_add(t, SLICE("</tbody>\n</table>\n"));
	summary(page, i, t);
	if (page->readme.n > 0)
		readme(slice_of(page->readme.p, page->readme.n), t);
	strbuf_add(t, SLICE("</main>\n</body>\n</html>\n"));
}
