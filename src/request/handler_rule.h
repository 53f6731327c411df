/*
 * handler_rule: what a handler must not do (handler_rule.def), and what the log says of one that
 * did: a broken rule ends the worker, with the rule as its last words; a slip that leaves the
 * request with an answer is a line. The calls of h2d/handler.h check by these macros.
 */
#ifndef H2D_REQUEST_HANDLER_RULE_H
#define H2D_REQUEST_HANDLER_RULE_H

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

/* Bytes that a handler hands over. A length that wrapped would be taken for all the memory behind
 * p. */
#define HANDLER_SLICE(req, p, n) (HANDLER_MUST(req, (n) <= PTRDIFF_MAX, LENGTH), slice_of(p, n))

/* Names call and request. From gone() every reply is one too many, whatever its rule is. */
_Noreturn void handler_rule_broken(const struct h2d_req *req, enum handler_rule rule,
	const char *call) __attribute__((cold, noinline));

/* Says in the log what a handler did that it should not, where the request has an answer. */
#define HANDLER_SLIP(req, text, ...) \
	log_peer(LEVEL_ERROR, "handler %s: " text ": %.*s %.*s", \
		handler_rule_name(req) __VA_OPT__(, ) __VA_ARGS__, SLICE_ARG((req)->method_text), \
		(req)->target.n < 100 ? (int)(req)->target.n : 100, (req)->target.p)

/* The handler of req; "none" where the core answers. */
const char *handler_rule_name(const struct h2d_req *req);

#endif
