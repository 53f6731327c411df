/*
 * handler_call: calls a handler for its request, and ends a worker in which one broke a rule, or
 * logs it. Rare calls are not inline, to save the others a stack frame
 * (docs/internals/decisions.md). Reporting a broken rule allocates nothing.
 */
#include "request/handler_call.h"

#include <stdio.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#endif

/* --- rules ------------------------------------------------------------------------------------ */

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

/* --- calls ------------------------------------------------------------------------------------ */

void handler_call_start(struct h2d_req *req)
{
	req->owes = true;
	HANDLER_CALL_DO(req, req->handler->start(req, req->handler_state));
}

#ifdef __SANITIZE_ADDRESS__
/* The piece is a copy, so that AddressSanitizer reports reads beyond its end, or after the call. */
static void call_body(struct h2d_req *req, const void *data, size_t n)
{
	void *piece = malloc(n);

	H2D_ASSERT(piece != NULL);
	memcpy(piece, data, n);
	req->handler->body(req, req->handler_state, piece, n);
	free(piece);
}
#else
static void call_body(struct h2d_req *req, const void *data, size_t n)
{
	req->handler->body(req, req->handler_state, data, n);
}
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p))
#endif

__attribute__((noinline)) void handler_call_body(struct h2d_req *req, const void *data, size_t n)
{
	if (req->handler->body == NULL) {
		req->stream->consume(req, n);
		return;
	}
	req->taken += n;
	HANDLER_CALL_DO(req, call_body(req, data, n));
}

__attribute__((noinline)) void handler_call_end(struct h2d_req *req)
{
	if (req->handler->end != NULL)
		HANDLER_CALL_DO(req, req->handler->end(req, req->handler_state));
}

static __attribute__((noinline)) void call_gone(
	struct h2d_req *req, const struct h2d_handler *handler)
{
	struct crash_call call;

	req->owes = false;
	handler_call_enter(&call, req, handler);
	handler->gone(req, req->handler_state);
	handler_call_exit();
}

static __attribute__((noinline)) void leave_all(struct list *belongings)
{
	LIST_TAKE(struct belonging, b, node, belongings)
		b->leave(b);
}

void handler_call_gone(struct h2d_req *req, const struct h2d_handler *handler)
{
	if (handler != NULL && handler->gone != NULL)
		call_gone(req, handler);
	if (req->belongings.next != NULL)
		leave_all(&req->belongings);
	/* The request may continue for a while, with the server's own answer. */
	if (handler != NULL)
		ASAN_POISON_MEMORY_REGION(req->handler_state, handler->state_size);
}

/* --- strings for it ----------------------------------------------------------------------------
 */

#ifdef __SANITIZE_ADDRESS__
struct copy {
	struct belonging belonging; /* of the request */
	struct slice of;
	char text[];
};

static void copy_leave(struct belonging *b)
{
	free(LIST_ENTRY(b, struct copy, belonging));
}

static struct copy *copy_find(struct list *all, struct slice s)
{
	if (!belonging_any(all))
		return NULL;
	LIST_EACH(struct belonging, b, node, all) {
		struct copy *c = LIST_ENTRY(b, struct copy, belonging);

		if (b->leave == copy_leave && c->of.p == s.p && c->of.n == s.n)
			return c;
	}
	return NULL;
}

const char *handler_call_copy(const struct h2d_req *req, struct slice s)
{
	struct list *all = (struct list *)(uintptr_t)&req->belongings;
	struct copy *c = copy_find(all, s);

	if (c != NULL)
		return c->text;
	H2D_ASSERT(s.p[s.n] == '\0');
	c = malloc(sizeof(*c) + s.n + 1);
	H2D_ASSERT(c != NULL);
	c->of = s;
	memcpy(c->text, s.p, s.n + 1);
	belonging_add(all, &c->belonging, copy_leave);
	return c->text;
}
#endif
