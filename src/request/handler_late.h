/*
 * handler_late: ends the wait for a handler that does not answer (timeouts.handler). Protocols call
 * it when they look at their requests.
 */
#ifndef H2D_REQUEST_HANDLER_LATE_H
#define H2D_REQUEST_HANDLER_LATE_H

#include "request/req.h"

/*
 * A look at req; waits: for nothing but its handler. What the handler has begun and others do for
 * it (a file, an upload) is not its time, nor is any while the body comes. Past handler_ms of env
 * the request is refused.
 */
void handler_late_look(struct h2d_req *req, bool waits, uint64_t now_ms);

#endif
