/* work: what threads do for handlers (h2d_work() of h2d/handler.h). */
#ifndef H2D_REQUEST_WORK_H
#define H2D_REQUEST_WORK_H

struct h2d_req;

/*
 * The handler is gone: what no thread has begun with is left out, and its done() is called now; the
 * rest comes to its done() without a request.
 */
void work_leave(struct h2d_req *req);

#endif
