/*
 * handler_call: begins and ends a call of a handler's code, start() or any other: an assertion or a
 * signal in between names the handler and the request. Used by all who call handlers on the loop,
 * and, of its way back, by the calls of h2d/handler.h that take a length.
 */
#ifndef H2D_REQUEST_HANDLER_CALL_H
#define H2D_REQUEST_HANDLER_CALL_H

#include "base/crash.h"
#include "request/req.h"

/* Bytes that a handler hands over. A length that wrapped is its fault, and would be taken for all
 * the memory behind p. */
#define HANDLER_SLICE(p, n) (H2D_ASSERT((n) <= PTRDIFF_MAX), slice_of(p, n))

/* call must live until handler_call_end(). */
static inline void handler_call_begin(
	struct crash_call *call, const struct h2d_req *req, const struct h2d_handler *handler)
{
	call->handler = handler->name;
	call->method = req->method_text;
	call->target = req->target;
	crash_begin(call);
}

static inline void handler_call_end(void)
{
	crash_end();
}

#endif
