/*
 * req: a request's life: its head, the way to its handler, the request body's pieces, its end.
 * Called by protocols from below and by handlers through h2d/handler.h; never knows which protocol
 * it serves.
 */
#include "request/req.h"
#include "request/account.h"

#include <stdlib.h>

#include "base/counters.h"
#include "http/authority.h"
#include "http/path.h"
#include "request/gate.h"
#include "request/handler_call.h"
#include "request/handler_choice.h"
#include "request/handler_timer.h"
#include "request/req_client.h"
#include "request/req_cookie.h"
#include "request/slash.h"
#include "request/trace.h"
#include "request/work.h"

enum {
	FIELDS_FIRST = 12,
	/* What one request may take beside its head: a reply by h2d_reply_bytes() is in it. */
	ARENA_CAP = 4 << 20,
	/* And for that: HTTP/1 has two sections of header_size, and each line may move while it
	   grows. */
	ARENA_HEADS = 8,
};

void req_init(struct h2d_req *req, struct http_env *env, const struct http_conn *conn,
	const struct stream_ops *stream)
{
	memset(req, 0, offsetof(struct h2d_req, reply));
	req->reply.nfields = 0;
	req->reply.status = 0;
	req->reply.ready = false;
	req->reply.content = false;
	body_none(&req->reply.body);
	arena_init(&req->arena, req->first, sizeof(req->first),
		ARENA_CAP + ARENA_HEADS * env->header_size);
	req->env = env;
	req->conn = conn;
	req->stream = stream;
	req->record.begun_us = req_record_now(env->timed);
	req->method = H2D_METHOD_UNKNOWN;
	req->body_length = BODY_UNKNOWN;
	req->body_left = env->body_size > 0 ? env->body_size : UINT64_MAX;
	COUNT(requests_live, 1);
}

/* All cookies are one field, which their size alone bounds. */
static unsigned most_fields(const struct h2d_req *req)
{
	return req->env->header_fields + (req->ncookies > 0 ? req->ncookies - 1 : 0);
}

static int more_room(struct h2d_req *req)
{
	unsigned room = req->fields_room == 0 ? FIELDS_FIRST : 4 * req->fields_room;
	struct field *fields;

	if (room > req->env->header_fields)
		room = req->env->header_fields > req->nfields ? req->env->header_fields
							      : 2 * req->nfields;
	fields = arena_alloc(&req->arena, room * sizeof(*fields));
	if (fields == NULL)
		return -1;
	if (req->nfields > 0)
		memcpy(fields, req->fields, req->nfields * sizeof(*fields));
	req->fields = fields;
	req->fields_room = room;
	return 0;
}

static __attribute__((noinline)) int grow_fields(struct h2d_req *req)
{
	unsigned most = most_fields(req);

	if (req->nfields == req->fields_room && more_room(req) < 0)
		return -1;
	req->fields_cap = req->fields_room < most ? req->fields_room : most;
	return 0;
}

int req_add_field(struct h2d_req *req, struct slice name, struct slice value)
{
	req->head_size += name.n + value.n + 32; /* RFC 9113, 6.5.2 */
	if (req->head_size > req->env->header_size) {
		req->head_too_large = true;
		return 0;
	}
	if (req_cookie_is(name)) {
		if (req_cookie_repeated(req, value))
			return 0;
		req->ncookies++;
	}
	if (req->nfields == req->fields_cap) {
		if (req->nfields >= most_fields(req)) {
			req->head_too_large = true;
			return 0;
		}
		if (grow_fields(req) < 0)
			return -1;
	}
	req->fields[req->nfields++] = (struct field){ name, value };
	return 0;
}

/* Whose request it is, as far as that can be told before its path is known. */
static void set_site(struct h2d_req *req)
{
	/* What the configuration says of names and paths is for the public. */
	req->site = req->conn->admin ? sites_plain.v : sites_find(req->env->sites, req->authority);
	req->location = &req->site->all;
}

/* Before anything is refused: HEAD gets no content, and what a location adds is added to every
 * answer. */
static const struct err *read_line(struct h2d_req *req)
{
	const struct err *err = path_parse(req->target, &req->arena, &req->path, &req->query);

	req->method = method_parse(req->method_text);
	if (err == ERR_PATH_SLASH && slash_is_harmless(req))
		err = NULL;
	if (err == NULL)
		req->location = site_location(req->site, req->path);
	return err;
}

/* What the peer did wrong: answered, and said in the log, for the access log has the status only.
 */
static void wrong(struct h2d_req *req, const struct err *err)
{
	TRACE_STEP(req, FAULT, NULL, "%s", err->text);
	err_log(err, req_client(req));
	req_record_error(&req->record, err);
	reply_error(req, err->status);
}

/* The same of the target, which is shown. */
static void wrong_target(struct h2d_req *req, const struct err *err)
{
	TRACE_STEP(req, FAULT, NULL, "%s", err->text);
	err_log_about(err, req_client(req), req->target);
	req_record_error(&req->record, err);
	reply_error(req, err->status);
}

/* Nobody but who explains says no. */
static bool may_start(struct h2d_req *req, const struct h2d_handler *handler)
{
	return req->env->starts == NULL || req->env->starts(req, handler);
}

/* By what the request says of it; some of it may be here already. */
static bool is_too_large(const struct h2d_req *req)
{
	uint64_t max = req->env->body_size;

	return max > 0 && req->body_length != BODY_UNKNOWN && req->body_length > max;
}

static void too_large(struct h2d_req *req)
{
	TRACE_STEP(req, LIMIT, req->env->body_size_at, "the request's body is too large");
	err_log(ERR_BODY_TOO_LARGE, req_client(req));
	req_record_error(&req->record, ERR_BODY_TOO_LARGE);
	reply_error(req, ERR_BODY_TOO_LARGE->status);
}

/* Everything the configuration demands is met: the handler's turn. */
static void start_handler(struct h2d_req *req)
{
	enum h2d_body body;
	const struct h2d_handler *handler = handler_choice(req, &body);
	struct crash_call call;

	if (handler == NULL)
		return;
	if (__builtin_expect(req->env->traced, false))
		trace_handler(req, handler);
	if (body == H2D_BODY_STREAM && is_too_large(req)) {
		too_large(req);
		return;
	}
	if (__builtin_expect(req->env->traced, false) && !may_start(req, handler))
		return;
	if (handler->state_size > 0) {
		req->handler_state = arena_zalloc(&req->arena, handler->state_size);
		if (req->handler_state == NULL) {
			reply_error(req, ERR_NO_MEMORY->status);
			return;
		}
	}
	req->handler = handler;
	req_record_route(req);
	req->body_taken = req->body_offered = body == H2D_BODY_STREAM && handler->body != NULL;
	handler_call_begin(&call, req, handler);
	handler->start(req, req->handler_state);
	handler_call_end();
}

/* It has its answer, or its error page is still being looked for. */
static bool answered(const struct h2d_req *req)
{
	return req->reply.ready || req->error_status != 0;
}

/* The handler's helpers work on the request no more; what comes of the body is not wanted. */
static void unhook(struct h2d_req *req)
{
	size_t n = body_queue_clear(&req->body_queue);

	req->hook = NULL;
	req->body_taken = req->body_held = false;
	if (n > 0)
		req->stream->consume(req, n);
}

/* What is left of the body may still be of use to it. */
static void unhook_gone(struct h2d_req *req)
{
	const struct req_hook *hook = req->hook;

	if (hook == NULL)
		return;
	req->hook = NULL;
	hook->gone(req);
	unhook(req);
}

/* Calls with a frame of their own: most requests have no use for one (docs/decisions.md). */
static __attribute__((noinline)) void call_gone(
	struct h2d_req *req, const struct h2d_handler *handler)
{
	struct crash_call call;

	handler_call_begin(&call, req, handler);
	handler->gone(req, req->handler_state);
	handler_call_end();
}

static __attribute__((noinline)) void call_end(struct h2d_req *req)
{
	struct crash_call call;

	handler_call_begin(&call, req, req->handler);
	req->handler->end(req, req->handler_state);
	handler_call_end();
}

/* The handler's last call, and the end of what it has begun. */
static void handler_leaves(struct h2d_req *req, const struct h2d_handler *handler)
{
	if (handler != NULL && handler->gone != NULL)
		call_gone(req, handler);
	if (req->body_task.fn != NULL)
		loop_cancel(&req->body_task);
	if (req->timers != NULL)
		handler_timer_leave(req);
	if (req->works != NULL)
		work_leave(req);
}

void req_refuse(struct h2d_req *req, int status)
{
	const struct h2d_handler *handler = req->handler;

	if (req->reply.ready)
		return;
	if (req->state == REQ_HEAD) {
		req_go(req, REQ_WAIT);
		set_site(req);
		read_line(req);
	}
	req->handler = NULL;
	req->body_taken = false;
	unhook_gone(req);
	handler_leaves(req, handler);
	reply_error(req, status);
}

/* Whether a hook takes the body out of the queue. */
static bool takes_queue(const struct h2d_req *req)
{
	return req->hook != NULL && req->hook->body != NULL;
}

/* A piece of the body that nobody is ready for. A request that has its answer needs no more of it.
 */
static void hold(struct h2d_req *req, const void *data, size_t n)
{
	if (!answered(req)) {
		n -= body_queue_put(&req->body_queue, data, n);
		if (n == 0) {
			if (takes_queue(req))
				req->hook->body(req);
			return;
		}
		req_refuse(req, ERR_NO_MEMORY->status);
	}
	req->stream->consume(req, n);
}

/* Past client-max-body-size. */
static void too_much(struct h2d_req *req, size_t n)
{
	err_log(ERR_BODY_TOO_LARGE, req_client(req));
	req_record_error(&req->record, ERR_BODY_TOO_LARGE);
	req_refuse(req, ERR_BODY_TOO_LARGE->status);
	req->stream->consume(req, n);
}

static void deliver(struct h2d_req *req, const void *data, size_t n)
{
	struct crash_call call;

	if (req->body_held)
		hold(req, data, n);
	else if (req->body_taken && !req->reply.ready) {
		handler_call_begin(&call, req, req->handler);
		req->handler->body(req, req->handler_state, data, n);
		handler_call_end();
	} else
		req->stream->consume(req, n);
}

void req_body(struct h2d_req *req, const void *data, size_t n)
{
	req->record.bytes_in += n;
	if ((req->body_taken || req->body_held) && !answered(req)) {
		if (n > req->body_left) {
			too_much(req, n);
			return;
		}
		req->body_left -= n;
	}
	deliver(req, data, n);
}

void req_end(struct h2d_req *req)
{
	if (req->body_held) {
		req->body_queue.ended = true;
		if (takes_queue(req))
			req->hook->body(req);
	} else if (req->body_taken && !req->reply.ready && req->handler->end != NULL) {
		call_end(req);
	}
}

static void hand_on_body(struct h2d_req *req)
{
	struct body_piece *piece;

	/* The handler that gets them may have enough again. */
	while (!req->body_held && (piece = body_queue_take(&req->body_queue)) != NULL) {
		deliver(req, piece->bytes, piece->n);
		body_pieces_free(piece);
	}
	if (!req->body_held && req->body_queue.ended) {
		req->body_queue.ended = false;
		req_end(req);
	}
}

/* The gate has decided on a request that had to wait for it. */
static void gate_decided(struct h2d_req *req, enum gate_result result, void *ctx)
{
	(void)ctx;
	req->body_held = false; /* start() may pause it */
	if (result == GATE_GO)
		start_handler(req);
	if (takes_queue(req)) {
		req->hook->body(req);
		return;
	}
	if (req->body_taken && !answered(req))
		req->stream->consume(req, 0);
	hand_on_body(req);
}

void req_start(struct h2d_req *req)
{
	const struct err *err;

	req_go(req, REQ_WAIT);
	if (req->conn->trusted)
		req_client_find(req);
	set_site(req);
	err = read_line(req);
	if (__builtin_expect(req->env->traced, false))
		trace_site(req);
	if (req->head_too_large) {
		wrong(req, ERR_FIELDS_TOO_LARGE);
		return;
	}
	if (req->authority.n > 0 && authority_host(req->authority).n == 0) {
		wrong(req, ERR_HOST);
		return;
	}
	if (req->method == H2D_METHOD_UNKNOWN) {
		TRACE_STEP(req, FAULT, NULL, "%s", ERR_METHOD_UNKNOWN->text);
		req_record_error(&req->record, ERR_METHOD_UNKNOWN);
		reply_error(req, ERR_METHOD_UNKNOWN->status);
		return;
	}
	if (req->method == H2D_OPTIONS && slice_eq(req->target, SLICE("*"))) {
		handler_choice_any(req);
		return;
	}
	if (err != NULL) {
		wrong_target(req, err);
		return;
	}
	switch (gate_pass(req, gate_decided)) {
	case GATE_GO:
		start_handler(req);
		break;
	case GATE_LATER:
		req_hold_body(req);
		break;
	case GATE_ANSWERED:
		break;
	}
}

void req_retract(struct h2d_req *req)
{
	struct reply *r = &req->reply;

	if (req->state != REQ_REPLY)
		return;
	req_go(req, REQ_WAIT);
	body_close(&r->body);
	r->nfields = 0;
	r->ready = r->content = false;
	req->error_status = 0;
}

void req_hold_body(struct h2d_req *req)
{
	req->body_held = true;
}

void req_release_body(struct h2d_req *req)
{
	req->body_held = req->body_paused = false;
	hand_on_body(req);
	/* Nothing else tells the protocol that somebody takes what waits with the client. */
	if (req_awaits_body(req))
		req->stream->consume(req, 0);
}

void req_hook(struct h2d_req *req, const struct req_hook *hook, void *state)
{
	H2D_ASSERT(req->hook == NULL);
	req->hook = hook;
	req->hook_state = state;
	if (hook->body == NULL)
		return;
	req->body_taken = req->body_offered = true;
	req->body_awaited = false;
	req_hold_body(req);
}

void req_await_body(struct h2d_req *req)
{
	req->body_awaited = true;
	req->stream->consume(req, 0);
}

void req_unhook(struct h2d_req *req)
{
	unhook(req);
}

void req_resume(struct h2d_req *req)
{
	if (req->state == REQ_REPLY)
		req->stream->resume(req);
}

void req_sent_all(struct h2d_req *req)
{
	req_go(req, REQ_DONE);
	req->complete = true;
}

void req_fini(struct h2d_req *req)
{
	req_go(req, REQ_GONE);
	if (req->gate != NULL)
		gate_leave(req);
	unhook_gone(req);
	if (req->body_queue.first != NULL)
		req->stream->consume(req, body_queue_clear(&req->body_queue));
	handler_leaves(req, req->handler);
	req->record.ended_us = req_record_now(req->env->timed);
	if (req->trace != NULL)
		trace_log(req);
	if (req->env->finished != NULL)
		req->env->finished(req->env, req);
	body_close(&req->reply.body);
	account_close(&req->account);
	arena_reset(&req->arena);
}
