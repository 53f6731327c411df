/*
 * listing_page: a directory as HTML and as JSON. Pure functions. Users who may write into a tree
 * choose names, so every one is escaped.
 */
#pragma once

#include "base/strbuf.h"

enum listing_sort { LISTING_NAME, LISTING_SIZE, LISTING_DATE, LISTING_SORTS };

/* The entries that a client asked for, and their order. */
struct listing_view {
	enum listing_sort sort;
	bool descending;
	unsigned page;    /* of HTML, from 1 */
	const char *find; /* text that names contain, ignoring ASCII case; "": all names */
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
	bool drive;          /* the form's directory is one */
	struct listing_view view;
	struct listing_entry *entries;
	unsigned n;
	bool cut;             /* there are more entries */
	struct strbuf readme; /* text of a file README, at most LISTING_README bytes */
};

enum {
	LISTING_JSON_MAX = 16 << 20, /* bytes; further entries are cut */
	LISTING_ROWS = 1000,         /* entries of one page of HTML */
	LISTING_README = 64 << 10,
};

/*
 * The view requested by a query of n bytes: "sort=name|size|date&order=asc|desc&q=TEXT&page=N"; the
 * first page, by name, for anything else. Decodes the query in place, where there is room for one
 * more byte; the view refers to it.
 */
struct listing_view listing_page_view(char *query, size_t n);

/* Sorts the entries: directories first, names ignoring ASCII case. */
void listing_page_sort(struct listing_page *page);

/* Adds the page of the view to t, or the last one. */
void listing_page_html(struct listing_page *page, struct strbuf *t);

/* Adds an array of {"name", "href", "type", "size", "mtime"}; sets page->cut if it is too long. */
void listing_page_json(struct listing_page *page, struct strbuf *t);
