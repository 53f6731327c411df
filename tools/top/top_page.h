/*
 * top_page: lines of text that fit a terminal: cut at its right edge by the columns of characters,
 * and at its bottom. Text cannot control the terminal: unprintable characters are shown as question
 * marks.
 */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_DIM, TOP_GOOD, TOP_WARN, TOP_BAD, TOP_TITLE };

struct top_page {
	struct strbuf text;
	unsigned columns, rows; /* 0: unlimited */
	bool screen;            /* lines replace existing ones; else they are printed */
	bool colours, utf8;
	unsigned column, row; /* the place of the next character */
};

/* True if one more line fits, with n lines below it kept free. */
bool top_page_has_room(const struct top_page *p, unsigned n);

void top_page_put(struct top_page *p, enum top_style style, const char *text);
void top_page_printf(struct top_page *p, enum top_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Ends the line. */
void top_page_end(struct top_page *p);
