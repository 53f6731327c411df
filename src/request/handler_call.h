/*
 * handler_call: enters and leaves a handler's code, start() or any other: an assertion or a signal
 * in between names the handler and the request. All calls of handlers on the loop use these.
 */
#pragma once

#include "base/crash.h"
#include "base/log.h"
#include "request/req.h"

/*
 * handler_rule: the rules for handlers (handler_rule.def): a broken rule ends the worker, with the
 * rule as its crash report; a late reply, and a slip after which the request still gets an answer,
 * are log lines. The calls of h2d/handler.h check by these macros.
 */

enum handler_rule {
#define HANDLER_RULE(name, text) HANDLER_RULE_##name,
#include "request/handler_rule.def"
	HANDLER_RULES
};

#define HANDLER_MUST(req, x, rule) \
	(__builtin_expect(!!(x), 1) ? (void)0 \
				    : handler_rule_broken(req, HANDLER_RULE_##rule, __func__))

/* True if the handler may still reply, or add to its reply. A breach is logged and ignored, because
 * other clients of the worker did not cause it; if strict, it ends the worker. */
#define HANDLER_MAY(req, rule) \
	(__builtin_expect((req)->owes, 1) || handler_rule_late(req, HANDLER_RULE_##rule, __func__))
bool handler_rule_late(const struct h2d_req *req, enum handler_rule rule, const char *call)
	__attribute__((cold, noinline));

/* Set in a server with sanitizers, and in the test kit. */
extern bool handler_rule_strict;

/* True in the one thread that calls handlers; set by handlers_start() and req_init(). */
extern _Thread_local bool handler_rule_on_loop;

/* Begins each public call, except those allowed in any thread. */
#define HANDLER_CALL() \
	(__builtin_expect(handler_rule_on_loop, 1) ? (void)0 : handler_rule_thread(__func__))

/* The call was made in a thread that has only its job (h2d_work()): the request is not read. */
_Noreturn void handler_rule_thread(const char *call) __attribute__((cold, noinline));

/* Ends the worker for a mistake in call, described by what; the crash report also names
 * handler and request, if this thread is in a call for one. */
_Noreturn void handler_rule_call(const char *call, const char *what)
	__attribute__((cold, noinline));

/* Bytes from a handler. A length that wrapped would cover all the memory behind p. */
#define HANDLER_SLICE(req, p, n) (HANDLER_MUST(req, (n) <= PTRDIFF_MAX, LENGTH), slice_of(p, n))

/* Names call and request. After gone() every reply is one too many, whatever its rule. */
_Noreturn void handler_rule_broken(const struct h2d_req *req, enum handler_rule rule,
	const char *call) __attribute__((cold, noinline));

/* Logs a handler's mistake, if the request has an answer. */
#define HANDLER_SLIP(req, text, ...) \
	log_peer(LEVEL_ERROR, "handler %s: " text ": %.*s %.*s", \
		handler_rule_name(req) __VA_OPT__(, ) __VA_ARGS__, SLICE_ARG((req)->method_text), \
		(req)->target.n < 100 ? (int)(req)->target.n : 100, (req)->target.p)

/* The handler of req; "none": the core answers. */
const char *handler_rule_name(const struct h2d_req *req);

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
