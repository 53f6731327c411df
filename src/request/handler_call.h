/*
 * handler_call: enters and leaves a handler's code, start() or any other: an assertion or a signal
 * in between names the handler and the request. All calls of handlers on the loop use these.
 */
#pragma once

#include "base/crash.h"
#include "request/handler_rule.h"

/*
 * handler_slow: names the handler whose call blocks the loop. A call is timed only if a thread
 * beside the loop requests it, LOOK_MS after the last timed one: the others only read a mark twice,
 * and no clock.
 */

/* Before it no call is timed. Without a thread, which is logged, none ever is. */
void handler_slow_start(void);
void handler_slow_stop(void);

/* Time since which the current call is timed, in microseconds; 0: none. Handler_slow's own, which
 * its thread writes, too. */
extern uint64_t handler_slow_mark;

static inline bool handler_slow_marked(void)
{
	return __builtin_expect(__atomic_load_n(&handler_slow_mark, __ATOMIC_RELAXED) != 0, 0);
}

/* A call is about to begin, or to end, and there is a mark. */
void handler_slow_begin(void) __attribute__((cold, noinline));
void handler_slow_end(void) __attribute__((cold, noinline));

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

/* Makes a call of the request's handler. */
#define HANDLER_CALL_DO(req, ...) \
	do { \
		struct crash_call handler_call; \
		handler_call_enter(&handler_call, (req), (req)->handler); \
		__VA_ARGS__; \
		handler_call_exit(); \
	} while (0)

/* Calls the request's handler; it may lack body(), whose credit is then given back, and end(). */
void handler_call_start(struct h2d_req *req);
void handler_call_body(struct h2d_req *req, const void *data, size_t n);
void handler_call_end(struct h2d_req *req);

/* The last call of handler, which may be NULL, and the end of all that it has begun. */
void handler_call_gone(struct h2d_req *req, const struct h2d_handler *handler);

#ifdef __SANITIZE_ADDRESS__
/* A copy of just that size, so that reads beyond its end are reported; the same for the same bytes,
 * until the request is gone. */
const char *handler_call_copy(const struct h2d_req *req, struct slice s);
#else
static inline const char *handler_call_copy(const struct h2d_req *req, struct slice s)
{
	(void)req;
	return s.p;
}
#endif

/* A string for a handler: s ends in NUL; p NULL: none. len may be NULL. */
static inline const char *handler_call_text(const struct h2d_req *req, struct slice s, size_t *len)
{
	if (len != NULL)
		*len = s.n;
	return s.p != NULL ? handler_call_copy(req, s) : NULL;
}

/* The value of f, and its name; NULL: none. name and both lengths may be NULL. */
static inline const char *handler_call_field(const struct h2d_req *req, const struct field *f,
	const char **name, size_t *name_len, size_t *len)
{
	if (f != NULL && name != NULL)
		*name = handler_call_text(req, f->name, name_len);
	return handler_call_text(req, f != NULL ? f->value : (struct slice){ 0 }, len);
}
