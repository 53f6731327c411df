/*
 * handler_call: enters and leaves a handler's code, start() or any other: an assertion or a signal
 * in between names the handler and the request. All who call handlers on the loop do it by these
 * calls, and the calls of h2d/handler.h that take a length check it by HANDLER_SLICE().
 */
#ifndef H2D_REQUEST_HANDLER_CALL_H
#define H2D_REQUEST_HANDLER_CALL_H

#include "base/crash.h"
#include "base/log.h"
#include "request/req.h"

/* Bytes that a handler hands over. A length that wrapped is its fault, and would be taken for all
 * the memory behind p. */
#define HANDLER_SLICE(p, n) (H2D_ASSERT((n) <= PTRDIFF_MAX), slice_of(p, n))

/* Says in the log what a handler did that it should not, where the request has an answer all the
 * same. */
#define HANDLER_SLIP(req, text, ...) \
	log_peer(LEVEL_ERROR, "handler %s: " text ": %.*s %.*s", \
		(req)->handler->name __VA_OPT__(, ) __VA_ARGS__, SLICE_ARG((req)->method_text), \
		(req)->target.n < 100 ? (int)(req)->target.n : 100, (req)->target.p)

/* call must live until handler_call_exit(). */
static inline void handler_call_enter(
	struct crash_call *call, const struct h2d_req *req, const struct h2d_handler *handler)
{
	call->handler = handler->name;
	call->method = req->method_text;
	call->target = req->target;
	crash_begin(call);
}

static inline void handler_call_exit(void)
{
	crash_end();
}

/* The calls of the request's handler; for end() it may have none. */
void handler_call_start(struct h2d_req *req);
void handler_call_body(struct h2d_req *req, const void *data, size_t n);
void handler_call_end(struct h2d_req *req);

/* The last call of handler, which may be NULL, and the end of what it has begun. */
void handler_call_gone(struct h2d_req *req, const struct h2d_handler *handler);

/* Behind gone(): none of the request's timers fires any more (handler_timer.c), and no wake comes
 * to it (handler_wake.c). */
void handler_timer_leave(struct h2d_req *req);
void handler_wake_leave(struct h2d_req *req);

/*
 * Behind gone(): work that no thread has begun with is left out, and its done() is called now; the
 * rest comes to its done() without a request (work.c).
 */
void work_leave(struct h2d_req *req);

#endif
