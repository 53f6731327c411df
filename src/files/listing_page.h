/*
 * listing_page: what is said of a directory, as HTML and as JSON. Pure functions: entries in, bytes
 * out. Names are chosen by users who may write into a tree, so every one is escaped.
 */
#ifndef H2D_FILES_LISTING_PAGE_H
#define H2D_FILES_LISTING_PAGE_H

#include "base/strbuf.h"

enum listing_sort { LISTING_NAME, LISTING_SIZE, LISTING_DATE, LISTING_SORTS };

struct listing_order {
	enum listing_sort sort;
	bool descending;
};

struct listing_entry {
	struct slice name;
	uint64_t size; /* of a file */
	int64_t mtime_ns;
	bool dir;
};

struct listing_page {
	struct slice path;   /* decoded, begins and ends with "/" */
	struct slice action; /* of the form for uploads; n 0: there is none */
	struct listing_order order;
	struct listing_entry *entries;
	unsigned n;
	bool cut;             /* there are more */
	struct strbuf readme; /* text of a file README, at most LISTING_README bytes */
};

/* How many bytes of a page are enough: entries behind that are cut off. */
enum { LISTING_PAGE_MAX = 16 << 20, LISTING_README = 64 << 10 };

/* The order that a query asks for: "sort=name|size|date&order=asc|desc"; by name for anything
 * else. */
struct listing_order listing_page_order(struct slice query);

/* Puts the entries in order: directories first, names without regard to ASCII case. */
void listing_page_sort(struct listing_page *page);

/* Adds the page to t; sets page->cut if it got too long. */
void listing_page_html(struct listing_page *page, struct strbuf *t);

/* Adds an array of {"name", "href", "type", "size", "mtime"}. */
void listing_page_json(struct listing_page *page, struct strbuf *t);

#endif
