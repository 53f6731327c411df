/*
 * listing_page: a directory as HTML and as JSON. Pure functions. Users who may write into a tree
 * choose names, so every one is escaped.
 */
#pragma once

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
	struct slice action; /* of the form for uploads; n 0: none */
	unsigned archives;   /* 1 << enum archive_kind: links to them */
	struct listing_order order;
	struct listing_entry *entries;
	unsigned n;
	bool cut;             /* there are more */
	struct strbuf readme; /* text of a file README, at most LISTING_README bytes */
};

/* The most bytes of a page: further entries are cut. */
enum { LISTING_PAGE_MAX = 16 << 20, LISTING_README = 64 << 10 };

/* The order requested by a query: "sort=name|size|date&order=asc|desc"; by name for anything
 * else. */
struct listing_order listing_page_order(struct slice query);

/* Sorts the entries: directories first, names ignoring ASCII case. */
void listing_page_sort(struct listing_page *page);

/* Adds the page to t; sets page->cut if it is too long. */
void listing_page_html(struct listing_page *page, struct strbuf *t);

/* Adds an array of {"name", "href", "type", "size", "mtime"}. */
void listing_page_json(struct listing_page *page, struct strbuf *t);
