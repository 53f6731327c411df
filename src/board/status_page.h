/*
 * status_page: the page /status around what status_html writes: its style, its script, and the
 * content-security-policy that lets these two through and nothing else.
 */
#ifndef H2D_BOARD_STATUS_PAGE_H
#define H2D_BOARD_STATUS_PAGE_H

struct h2d_req;

/* Answers with the page; env->status_page of the request core. */
void status_page(struct h2d_req *req);

#endif
