/*
 * handler_rule: the rules for handlers (handler_rule.def): a broken rule ends the worker, with the
 * rule as its crash report; a late reply, and a slip after which the request still gets an answer,
 * are log lines. The calls of h2d/handler.h check by these macros.
 */
#pragma once

#include "base/log.h"
#include "request/req.h"

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
