/*
 * status_html: the content of the page /status as HTML in one line: the numbers of status_json, for
 * people. Elements that change have an id, and the page's script replaces what is in them.
 */
#ifndef H2D_BOARD_STATUS_HTML_H
#define H2D_BOARD_STATUS_HTML_H

#include "base/strbuf.h"
#include "board/board.h"

/* Puts the content of the page's element main behind t. */
void status_html(const struct board *b, struct strbuf *t);

/* Puts one number, for programs and as people have it beside. */
void status_html_bytes(struct strbuf *t, uint64_t n);
void status_html_seconds(struct strbuf *t, uint64_t s);

/* Puts day and time of a wall clock, milliseconds since 1970. */
void status_html_time(struct strbuf *t, uint64_t ms);

#endif
