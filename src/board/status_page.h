/*
 * status_page: the frame of the pages for people on admin listeners: their style, and the
 * content-security-policy that lets it through.
 */
#ifndef H2D_BOARD_STATUS_PAGE_H
#define H2D_BOARD_STATUS_PAGE_H

#include "board/admin.h"

/* Puts the head of the page, up to its content. */
void status_page_begin(struct strbuf *t, const char *title);

/* Ends the page, and answers with it; t as admin_reply() has it. */
void status_page_reply(struct h2d_req *req, struct strbuf *t);

#endif
