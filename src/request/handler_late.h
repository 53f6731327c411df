/*
 * handler_late: ends the wait for a handler that does not answer (timeouts.handler). Protocols call
 * it when they check their requests.
 */
#ifndef H2D_REQUEST_HANDLER_LATE_H
#define H2D_REQUEST_HANDLER_LATE_H

#include "request/req.h"

/*
 * Checks req; waits: only for its handler. Work of others for the handler (a file, an upload) is
 * not its time, nor is any while the body comes. After handler_ms of env the request is refused.
 */
void handler_late_look(struct h2d_req *req, bool waits, uint64_t now_ms);

#endif
