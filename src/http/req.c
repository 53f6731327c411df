/*
 * req: a request's life: its head, the way to its handler, the request body's pieces, its end. Called
 * by protocols from below and by handlers through h2d/handler.h; never knows which protocol it serves.
 */
#include "http/req.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/counters.h"
#include "http/gate.h"
#include "http/path.h"

enum {
	FIELDS_FIRST = 12,
	/* What one request may take beside its head: a reply by h2d_reply_bytes() is in it. */
	ARENA_CAP = 4 << 20,
	/* And for that: HTTP/1 has two sections of header_size, and each line may move while it grows. */
	ARENA_HEADS = 8,
};

static const struct {
	const char *name;
	unsigned next;
} states[REQ_STATES] = {
#define REQ_STATE(name, next, help) { #name, next },
#include "http/req_state.def"
};

const char *req_state_name(enum req_state state)
{
	return states[state].name;
}

static void count_gone(const struct h2d_req *req)
{
	COUNT(requests_live, -1);
	COUNT(requests, 1);
	if (!req->complete)
		COUNT(requests_aborted, 1);
	if (!req->reply.ready)
		return;
	switch (req->reply.status / 100) {
	case 2:
		COUNT(responses_2xx, 1);
		break;
	case 3:
		COUNT(responses_3xx, 1);
		break;
	case 4:
		COUNT(responses_4xx, 1);
		break;
	default:
		COUNT(responses_5xx, 1);
	}
}

void req_go(struct h2d_req *req, enum req_state state)
{
	H2D_ASSERT(states[req->state].next & 1u << state);
	if (state == REQ_GONE)
		count_gone(req);
	req->state = state;
}

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
	req->started_us = clock_us();
	req->method = H2D_METHOD_UNKNOWN;
	COUNT(requests_live, 1);
}

static int grow_fields(struct h2d_req *req)
{
	unsigned cap = req->fields_cap == 0 ? FIELDS_FIRST : 2 * req->fields_cap;
	struct field *fields = arena_alloc(&req->arena, cap * sizeof(*fields));

	if (fields == NULL)
		return -1;
	if (req->nfields > 0)
		memcpy(fields, req->fields, req->nfields * sizeof(*fields));
	req->fields = fields;
	req->fields_cap = cap;
	return 0;
}

int req_add_field(struct h2d_req *req, struct slice name, struct slice value)
{
	req->head_size += name.n + value.n + 32; /* RFC 9113, 6.5.2 */
	if (req->head_size > req->env->header_size) {
		req->head_too_large = true;
		return 0;
	}
	if (req->nfields == req->fields_cap && grow_fields(req) < 0)
		return -1;
	req->fields[req->nfields++] = (struct field){ name, value };
	return 0;
}

static void allow(struct h2d_req *req, unsigned methods)
{
	char list[64];

	method_list(methods | 1u << H2D_OPTIONS, list, sizeof(list));
	h2d_reply_field(req, "allow", list);
}

static void method_not_allowed(struct h2d_req *req, unsigned methods)
{
	allow(req, methods);
	h2d_reply_error(req, 405);
}

enum { FILE_METHODS = 1u << H2D_GET | 1u << H2D_HEAD };

/* RFC 9110, 9.3.7: what can be asked of a path, or ("*") of the server. */
static void reply_options(struct h2d_req *req, unsigned methods)
{
	allow(req, methods);
	h2d_reply_bytes(req, 204, NULL, NULL, 0);
}

static unsigned all_methods(const struct route_table *t)
{
	unsigned methods = FILE_METHODS;

	for (unsigned i = 0; i < t->nroutes; i++)
		methods |= 1u << t->routes[i].method;
	return methods;
}

/* The handler that answers, NULL if the request was answered here. */
static const struct h2d_handler *choose(struct h2d_req *req, enum h2d_body *body)
{
	const struct h2d_handler *handler = req->env->fallback;
	enum h2d_scope here = req->conn->admin ? H2D_ON_ADMIN : H2D_ON_PUBLIC;

	*body = H2D_BODY_NONE;
	switch (route_find(req->env->routes, req->method, req->path, &req->match)) {
	case ROUTE_METHOD:
		if (req->method == H2D_OPTIONS) {
			reply_options(req, req->match.methods);
			return NULL;
		}
		method_not_allowed(req, req->match.methods);
		return NULL;
	case ROUTE_FOUND:
		if (req->match.route->handler->scope == H2D_ON_ANY ||
			req->match.route->handler->scope == here) {
			*body = req->match.route->body;
			return req->match.route->handler;
		}
		break;
	case ROUTE_NONE:
		break;
	}
	req->match.route = NULL;
	if (handler != NULL && handler->scope != H2D_ON_ANY && handler->scope != here) {
		h2d_reply_error(req, 404);
		return NULL;
	}
	if (req->method == H2D_OPTIONS) {
		reply_options(req, FILE_METHODS);
		return NULL;
	}
	return handler;
}

/* Whose request it is, as far as that can be told before its path is known. */
static void set_site(struct h2d_req *req)
{
	/* What the configuration says of names and paths is for the public. */
	req->site = req->conn->admin ? sites_plain.v :
				       sites_find(req->env->sites, req->authority);
	req->place = &req->site->all;
}

/* Before anything is refused: HEAD gets no content, and what a location adds is added to every answer. */
static const struct err *read_line(struct h2d_req *req)
{
	const struct err *err = path_parse(req->target, &req->arena, &req->path, &req->query);

	req->method = method_parse(req->method_text);
	if (err == NULL)
		req->place = site_place(req->site, req->path);
	return err;
}

/* What the peer did wrong: answered, and said in the log, for the access log has the status only. */
static void wrong(struct h2d_req *req, const struct err *err)
{
	log_at(err->level, "connection %.*s: %s", SLICE_ARG(req->conn->peer), err->text);
	req_error(req, err->status);
}

void req_start(struct h2d_req *req)
{
	const struct err *err;

	req_go(req, REQ_WAIT);
	set_site(req);
	err = read_line(req);
	if (req->head_too_large) {
		wrong(req, ERR_FIELDS_TOO_LARGE);
		return;
	}
	if (req->method == H2D_METHOD_UNKNOWN) {
		req_error(req, ERR_METHOD_UNKNOWN->status);
		return;
	}
	if (req->method == H2D_OPTIONS && slice_eq(req->target, SLICE("*"))) {
		reply_options(req, all_methods(req->env->routes));
		return;
	}
	if (err != NULL) {
		wrong(req, err);
		return;
	}
	if (gate_pass(req))
		req_enter(req);
}

void req_enter(struct h2d_req *req)
{
	enum h2d_body body;
	const struct h2d_handler *handler = choose(req, &body);

	if (handler == NULL)
		return;
	if (handler->state_size > 0) {
		req->handler_state = arena_zalloc(&req->arena, handler->state_size);
		if (req->handler_state == NULL) {
			req_error(req, ERR_NO_MEMORY->status);
			return;
		}
	}
	req->handler = handler;
	req->body_taken = body == H2D_BODY_STREAM && handler->body != NULL;
	handler->start(req, req->handler_state);
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
	if (handler != NULL && handler->gone != NULL)
		handler->gone(req, req->handler_state);
	req_error(req, status);
}

void req_body(struct h2d_req *req, const void *data, size_t n)
{
	if (req->gate != NULL)
		gate_body(req, data, n);
	else if (req->body_taken && !req->reply.ready)
		req->handler->body(req, req->handler_state, data, n);
	else
		req->stream->consume(req, n);
}

void req_end(struct h2d_req *req)
{
	if (req->gate != NULL)
		gate_end(req);
	else if (req->body_taken && !req->reply.ready && req->handler->end != NULL)
		req->handler->end(req, req->handler_state);
}

void req_error(struct h2d_req *req, int status)
{
	if (!req->reply.ready)
		h2d_reply_error(req, status);
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
	if (req->handler != NULL && req->handler->gone != NULL)
		req->handler->gone(req, req->handler_state);
	if (req->env->finished != NULL)
		req->env->finished(req->env, req);
	body_close(&req->reply.body);
	arena_reset(&req->arena);
}

/* --- what handlers see of it -------------------------------------------------------------------- */

static const char *text(struct slice s, size_t *len)
{
	if (len != NULL)
		*len = s.n;
	return s.p;
}

enum h2d_method h2d_req_method(const struct h2d_req *req)
{
	return req->method;
}

const char *h2d_req_path(const struct h2d_req *req, size_t *len)
{
	return text(req->path, len);
}

const char *h2d_req_query(const struct h2d_req *req, size_t *len)
{
	return text(req->query, len);
}

const char *h2d_req_authority(const struct h2d_req *req, size_t *len)
{
	return text(req->authority, len);
}

const char *h2d_req_param(const struct h2d_req *req, const char *name, size_t *len)
{
	const struct route *route = req->match.route;

	for (unsigned i = 0; route != NULL && i < route->nparams; i++)
		if (strcmp(route->params[i], name) == 0)
			return text(req->match.params[i], len);
	return text((struct slice){ 0 }, len);
}

const char *h2d_req_field(const struct h2d_req *req, const char *name, size_t *len)
{
	const struct field *f = field_find(req->fields, req->nfields, slice_str(name));

	return text(f != NULL ? f->value : (struct slice){ 0 }, len);
}

void *h2d_req_alloc(struct h2d_req *req, size_t n)
{
	return arena_alloc(&req->arena, n);
}

void h2d_consume(struct h2d_req *req, size_t n)
{
	req->stream->consume(req, n);
}

void h2d_resume(struct h2d_req *req)
{
	req_resume(req);
}

bool h2d_draining(const struct h2d_req *req)
{
	return req->env->draining;
}
