/*
 * answer: error pages out of a site's root; for struct http_env's error_page. h2d_reply_file(), which is
 * made here too, is declared in h2d/handler.h.
 */
#ifndef H2D_CACHE_ANSWER_H
#define H2D_CACHE_ANSWER_H

#include "http/req.h"

/*
 * Answers with status and, as content, the file below the root of req's site, from the image or the
 * disk, now or later; reply_own_page() if it cannot be had. Whatever else req had as body is closed.
 */
void answer_error_page(struct h2d_req *req, int status, struct slice file);

#endif
