/*
 * handler_call: calls a handler for its request. Called by the request core only. Rare calls are
 * not inline, to save the others a stack frame (docs/internals/decisions.md).
 */
#include "request/handler_call.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#endif

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
	struct list *node;

	while ((node = list_pop(belongings)) != NULL) {
		struct belonging *b = LIST_ENTRY(node, struct belonging, node);

		b->leave(b);
	}
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
	LIST_FOREACH(node, all) {
		struct belonging *b = LIST_ENTRY(node, struct belonging, node);
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
