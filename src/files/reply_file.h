/*
 * reply_file: error pages out of a site's root; for struct http_env's error_page. h2d_reply_file(),
 * which is made here too, is declared in h2d/handler.h.
 */
#ifndef H2D_FILES_REPLY_FILE_H
#define H2D_FILES_REPLY_FILE_H

#include "request/req.h"

/*
 * Answers with status and, as content, the file below the root of req's site, from the image or the
 * disk, now or later; reply_own_page() if it cannot be had. Whatever else req had as body is
 * closed.
 */
void reply_file_error_page(struct h2d_req *req, int status, struct slice file);

#endif
