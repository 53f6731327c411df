/*
 * handler_rule: ends a worker in which a handler broke a rule, or logs it. Called by HANDLER_MUST()
 * and HANDLER_MAY(); it allocates nothing.
 */
#include "request/handler_rule.h"

#include <stdio.h>

#include "base/crash.h"

enum { TEXT_MAX = 512, TARGET_SHOWN = 256 };

_Thread_local bool handler_rule_on_loop;
#ifdef __SANITIZE_ADDRESS__
bool handler_rule_strict = true;
#else
bool handler_rule_strict;
#endif

static const char *const texts[] = {
#define HANDLER_RULE(name, text) text,
#include "request/handler_rule.def"
};

/* The handler is no longer the request's while gone() runs for a refused one. */
const char *handler_rule_name(const struct h2d_req *req)
{
	const struct crash_call *called = crash_doing();

	if (req->handler != NULL)
		return req->handler->name;
	return called != NULL ? called->handler : "none";
}

static const char *describe(const struct h2d_req *req, enum handler_rule rule, const char *call)
{
	static char text[TEXT_MAX];

	if (rule == HANDLER_RULE_ONCE && (req->handler == NULL || req->state == REQ_GONE))
		rule = HANDLER_RULE_GONE;
	snprintf(text, sizeof(text), "handler %s %s %.*s %.*s (%s)", handler_rule_name(req),
		texts[rule], SLICE_ARG(req->method_text),
		req->target.n < TARGET_SHOWN ? (int)req->target.n : TARGET_SHOWN, req->target.p,
		call);
	return text;
}

void handler_rule_broken(const struct h2d_req *req, enum handler_rule rule, const char *call)
{
	assert_end(describe(req, rule, call));
}

bool handler_rule_late(const struct h2d_req *req, enum handler_rule rule, const char *call)
{
	if (handler_rule_strict)
		handler_rule_broken(req, rule, call);
	log_peer(LEVEL_ERROR, "%s; ignoring it", describe(req, rule, call));
	return false;
}

void handler_rule_call(const char *call, const char *what)
{
	char text[TEXT_MAX];
	int n = snprintf(text, sizeof(text), "%s %s", call, what);

	crash_tell(text, (size_t)n, sizeof(text));
	assert_end(text);
}

void handler_rule_thread(const char *call)
{
	handler_rule_call(call, "was called outside the event loop's thread");
}
