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
	struct crash_call call;

	req->owes = true;
	handler_call_enter(&call, req, req->handler);
	req->handler->start(req, req->handler_state);
	handler_call_exit();
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
	struct crash_call call;

	if (req->handler->body == NULL) {
		req->stream->consume(req, n);
		return;
	}
	req->taken += n;
	handler_call_enter(&call, req, req->handler);
	call_body(req, data, n);
	handler_call_exit();
}

__attribute__((noinline)) void handler_call_end(struct h2d_req *req)
{
	struct crash_call call;

	if (req->handler->end == NULL)
		return;
	handler_call_enter(&call, req, req->handler);
	req->handler->end(req, req->handler_state);
	handler_call_exit();
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
