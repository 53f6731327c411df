/* handler_timer: the timers that handlers ask for (h2d_timer_new() of h2d/handler.h). */
#ifndef H2D_REQUEST_HANDLER_TIMER_H
#define H2D_REQUEST_HANDLER_TIMER_H

struct h2d_req;

/* The handler is gone: none of the request's timers fires any more. */
void handler_timer_leave(struct h2d_req *req);

#endif
