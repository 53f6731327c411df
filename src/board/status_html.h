/*
 * status_html: what the page /status shows, as HTML in one line: the same numbers as status_json
 * has, for people. Elements that change have an id, and the page's script replaces what is in them.
 */
#ifndef H2D_BOARD_STATUS_HTML_H
#define H2D_BOARD_STATUS_HTML_H

#include "base/strbuf.h"
#include "board/board.h"

/* Puts the content of the page's element main behind t. */
void status_html(const struct board *b, struct strbuf *t);

#endif
