/*
 * listing_page: sorts the entries of a directory and writes them as JSON; the HTML page is
 * listing_html.c. Called by listing.c in a thread; it makes no system call.
 */
#include "files/listing_page.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

static bool next_pair(struct slice *rest, struct slice *pair)
{
	const char *end;

	if (rest->n == 0)
		return false;
	end = memchr(rest->p, '&', rest->n);
	*pair = slice_of(rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n);
	rest->p += pair->n + (end != NULL);
	rest->n -= pair->n + (end != NULL);
	return true;
}

struct listing_order listing_page_order(struct slice query)
{
	struct listing_order order = { LISTING_NAME, false };
	struct slice pair;

	while (next_pair(&query, &pair)) {
		if (slice_eq(pair, SLICE("sort=name")))
			order.sort = LISTING_NAME;
		else if (slice_eq(pair, SLICE("sort=size")))
			order.sort = LISTING_SIZE;
		else if (slice_eq(pair, SLICE("sort=date")))
			order.sort = LISTING_DATE;
		else if (slice_eq(pair, SLICE("order=asc")))
			order.descending = false;
		else if (slice_eq(pair, SLICE("order=desc")))
			order.descending = true;
	}
	return order;
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

/* Cuts the number that s begins with off it, and leading zeros off that. */
static struct slice take_number(struct slice *s)
{
	struct slice number;
	const char *p;

	for (; s->n > 1 && *s->p == '0' && s->p[1] >= '0' && s->p[1] <= '9'; s->n--)
		s->p++;
	for (p = s->p; is_digit(*s); s->n--)
		s->p++;
	number = slice_of(p, (size_t)(s->p - p));
	return number;
}

static int by_number(struct slice a, struct slice b)
{
	return a.n != b.n ? (a.n > b.n) - (a.n < b.n) : by_bytes(a, b);
}

/* Numbers in names by their value: "file2" before "file10". Of letters the case does not matter. */
static int by_parts(struct slice a, struct slice b)
{
	int rc = 0;

	while (rc == 0 && a.n > 0 && b.n > 0) {
		if (is_digit(a) && is_digit(b)) {
			struct slice x = take_number(&a), y = take_number(&b);

			rc = by_number(x, y);
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

	/* names that differ in case or leading zeros alone have an order too */
	return rc != 0 ? rc : by_bytes(a, b);
}

static int compare_entries(const void *pa, const void *pb, void *ctx)
{
	const struct listing_entry *a = pa, *b = pb;
	const struct listing_order *order = ctx;
	int rc = 0;

	if (a->dir != b->dir)
		return a->dir ? -1 : 1;
	if (order->sort == LISTING_SIZE && !a->dir)
		rc = (a->size > b->size) - (a->size < b->size);
	else if (order->sort == LISTING_DATE)
		rc = (a->mtime_ns > b->mtime_ns) - (a->mtime_ns < b->mtime_ns);
	else if (order->sort == LISTING_NAME)
		rc = by_name(a->name, b->name);
	if (rc == 0)
		return by_name(a->name, b->name);
	return order->descending ? -rc : rc;
}

void listing_page_sort(struct listing_page *page)
{
	if (page->n > 0)
		qsort_r(page->entries, page->n, sizeof(*page->entries), compare_entries,
			&page->order);
}

struct slice listing_page_date(int64_t mtime_ns, char date[LISTING_DATE_LEN + 1])
{
	const int64_t second = 1000000000;
	/* towards the past, before 1970 too */
	time_t t = mtime_ns / second - (mtime_ns % second < 0);
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL || tm.tm_year + 1900 < 1000 || tm.tm_year + 1900 > 9999)
		return slice_of(date, 0);
	return slice_of(date, strftime(date, LISTING_DATE_LEN + 1, "%Y-%m-%dT%H:%M:%SZ", &tm));
}

static void json_entry(const struct listing_entry *e, struct strbuf *t)
{
	const char *slash = e->dir ? "/" : "";
	char buf[LISTING_DATE_LEN + 1];
	struct slice date = listing_page_date(e->mtime_ns, buf);

	strbuf_add(t, SLICE("{\"name\":\""));
	strbuf_json(t, e->name);
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
		if (t->n >= LISTING_PAGE_MAX) {
			page->cut = true;
			break;
		}
		strbuf_add(t, i > 0 ? SLICE(",\n") : SLICE("\n"));
		json_entry(&page->entries[i], t);
	}
	strbuf_add(t, SLICE("\n]\n"));
}
