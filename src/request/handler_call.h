/*
 * handler_call: enters and leaves a handler's code, start() or any other: an assertion or a signal
 * in between names the handler and the request. All calls of handlers on the loop use these.
 */
#ifndef H2D_REQUEST_HANDLER_CALL_H
#define H2D_REQUEST_HANDLER_CALL_H

#include "base/crash.h"
#include "request/handler_rule.h"
#include "request/handler_slow.h"

/* call has handler and request, and must live until handler_call_exit(). */
static inline void handler_call_begin(struct crash_call *call)
{
	if (handler_slow_marked())
		handler_slow_begin();
	crash_begin(call);
}

/* call must live until handler_call_exit(). */
static inline void handler_call_enter(
	struct crash_call *call, const struct h2d_req *req, const struct h2d_handler *handler)
{
	call->handler = handler->name;
	call->method = req->method_text;
	call->target = req->target;
	handler_call_begin(call);
}

static inline void handler_call_exit(void)
{
	if (handler_slow_marked())
		handler_slow_end();
	crash_end();
}

/* Calls the request's handler; it may lack body(), whose credit is then given back, and end(). */
void handler_call_start(struct h2d_req *req);
void handler_call_body(struct h2d_req *req, const void *data, size_t n);
void handler_call_end(struct h2d_req *req);

/* The last call of handler, which may be NULL, and the end of all that it has begun. */
void handler_call_gone(struct h2d_req *req, const struct h2d_handler *handler);

#endif
