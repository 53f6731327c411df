/*
 * req: a request's life (req_state.def): its head, the way to its handler, its refusal, its end.
 * Called by protocols and by handlers through h2d/handler.h; independent of the protocol.
 */
#include "request/req.h"

#include "base/counters.h"
#include "http/path.h"
#include "request/gate.h"
#include "request/handler_call.h"
#include "request/handler_choice.h"
#include "request/pace.h"
#include "request/req_body.h"
#include "request/req_client.h"
#include "request/req_field.h"
#include "request/trace.h"
#include "share/account.h"

enum {
	/* Memory of one request beside its head: also for a reply by h2d_reply_bytes(). */
	ARENA_CAP = 4 << 20,
	/* And for the head: HTTP/1 has two sections of header_size, and each line may move while it
	 * grows. */
	ARENA_HEADS = 8,
};

void req_init(struct h2d_req *req, struct http_env *env, const struct http_conn *conn,
	const struct stream_ops *stream)
{
	memset(req, 0, offsetof(struct h2d_req, match));
	req->match.route = NULL;
	req->match.owner = NULL;
	reply_no_fields(&req->reply);
	req->reply.status = 0;
	req->reply.ready = false;
	req->reply.content = false;
	req->reply.duplex = false;
	req->reply.sandboxed = false;
	body_none(&req->reply.body);
	arena_init(&req->arena, req->first, sizeof(req->first),
		ARENA_CAP + ARENA_HEADS * env->conf.header_size);
	req->env = env;
	req->conn = conn;
	req->stream = stream;
	req->record.begun_us = req_record_now(env->conf.timed);
	req_field_init(req);
	req->method = H2D_METHOD_UNKNOWN;
	req->body_length = BODY_UNKNOWN;
	handler_rule_on_loop = true;
	COUNT(requests_live, 1);
}

/*
 * Finds the site, and its location as far as known before the path. False: the authority is
 * malformed.
 */
static bool set_site(struct h2d_req *req)
{
	const struct sites *sites = req->env->sites;
	const struct site *found = site_memo_find(&req->env->site_memo, sites, req->authority);

	/* Names and paths of the configuration are for public listeners. */
	if (req->conn->admin)
		req->site = sites_plain.v;
	else
		req->site = found != NULL ? found : &sites->v[sites->fallback];
	req->location = &req->site->all;
	return found != NULL;
}

/* Before any refusal: HEAD gets no content, and a location's headers are added to every answer. */
static const struct err *read_line(struct h2d_req *req)
{
	const struct err *err = path_parse(req->target, &req->arena, &req->path, &req->query);

	req->method = method_parse(req->method_text);
	if (err == ERR_PATH_SLASH && handler_choice_despite_slash(req))
		err = NULL;
	if (err == NULL)
		req->location = site_location(req->site, req->path);
	return err;
}

/* Answers a mistake of the peer; of the target: logged with that. */
static void wrong(struct h2d_req *req, const struct err *err, bool target)
{
	TRACE_STEP(req, FAULT, NULL, "%s", err->text);
	if (target)
		err_log_about(err, req_client(req), req->target);
	else
		err_log(err, req_client(req));
	req_record_error(&req->record, err);
	reply_error(req, err->status);
}

static void too_large(struct h2d_req *req)
{
	TRACE_STEP(req, LIMIT, TRACE_AT(req->location, body_size),
		"refuses the request: its body is too large");
	req_fault(req, ERR_BODY_TOO_LARGE);
	req_refuse(req, ERR_BODY_TOO_LARGE->status);
}

/* Makes strings of the path's parameters: each ends in NUL. */
static bool own_params(struct h2d_req *req)
{
	struct route_match *m = &req->match;

	for (unsigned i = 0; i < m->route->nparams; i++) {
		m->params[i] = arena_dup(&req->arena, m->params[i]);
		if (m->params[i].p == NULL)
			return false;
	}
	return true;
}

struct slice req_record_route_name(const struct route_table *routes, uint32_t route)
{
	static const struct slice own[REQ_ROUTE_ROWS] = {
		[REQ_ROUTE_NONE] = SLICE_LIT("none"),
		[REQ_ROUTE_FILES] = SLICE_LIT("files"),
		[REQ_ROUTE_HEALTH] = SLICE_LIT("health"),
		[REQ_ROUTE_PROXY] = SLICE_LIT("proxy"),
	};

	if (route < REQ_ROUTE_ROWS)
		return own[route];
	H2D_ASSERT(route - REQ_ROUTE_ROWS < routes->nroutes);
	return slice_str(routes->routes[route - REQ_ROUTE_ROWS].pattern);
}

/* The handler was chosen. */
static void set_route(struct h2d_req *req)
{
	const struct http_env *env = req->env;

	if (req->match.route != NULL)
		req->record.route =
			REQ_ROUTE_ROWS + (uint32_t)(req->match.route - env->conf.routes->routes);
	else if (req->handler == env->conf.fallback)
		req->record.route = REQ_ROUTE_FILES;
	else if (req->handler == env->conf.proxy)
		req->record.route = REQ_ROUTE_PROXY;
	else
		req->record.route = REQ_ROUTE_HEALTH;
}

/* All rules of the configuration are met: the handler's turn. */
static void start_handler(struct h2d_req *req)
{
	enum h2d_body body;
	const struct h2d_handler *handler = handler_choice(req, &body);

	if (handler == NULL)
		return;
	if (__builtin_expect(req->env->conf.traced, false))
		trace_handler(req, handler);
	/* By the request's length; some of it may have come. */
	if (body == H2D_BODY_STREAM && req->body_length != BODY_UNKNOWN &&
		req->body_length > req_body_max(req)) {
		too_large(req);
		return;
	}
	if (req->match.route != NULL && req->match.route->nparams > 0 && !own_params(req)) {
		reply_no_memory(req, req->path.n);
		return;
	}
	if (body == H2D_BODY_STREAM)
		req_body_take(req);
	req_hand_to(req, handler);
}

inline void req_hand_to(struct h2d_req *req, const struct h2d_handler *handler)
{
	/* Only `h2d --explain` refuses. */
	if (__builtin_expect(req->env->conf.traced, false) && req->env->conf.starts != NULL &&
		!req->env->conf.starts(req, handler))
		return;
	if (handler->state_size > 0) {
		req->handler_state = arena_zalloc(&req->arena, handler->state_size);
		if (req->handler_state == NULL) {
			reply_no_memory(req, handler->state_size);
			return;
		}
	}
	req->handler = handler;
	set_route(req);
	handler_call_start(req);
}

static void req_cut(struct h2d_req *req)
{
	req_body_over(req);
	req->stream->cut(req);
}

void req_refuse(struct h2d_req *req, int status)
{
	const struct h2d_handler *handler = req->handler;

	if (req->reply.ready) {
		/* A reply made from an incomplete body is incomplete, too. */
		if (req_body_duplex(req))
			req_cut(req);
		return;
	}
	if (req->state == REQ_HEAD) {
		req_go(req, REQ_WAIT);
		set_site(req);
		read_line(req);
	}
	req->handler = NULL;
	req_body_leave(req);
	handler_call_gone(req, handler);
	reply_error(req, status);
}

/* Called when the gate has decided on a request that waited. */
static void gate_decided(struct h2d_req *req, enum gate_result result, void *ctx)
{
	(void)ctx;
	if (result == GATE_GO)
		start_handler(req);
	req_body_started(req);
}

/* An extended CONNECT (RFC 8441) is to HTTP/2 what GET with an upgrade is to HTTP/1.1; it has no
 * other use. */
static __attribute__((cold, noinline)) bool opens_tunnel(struct h2d_req *req)
{
	if (!req_asks_websocket(req) || !handler_choice_has_websocket(req))
		return false;
	req->method = H2D_GET;
	return true;
}

/* A method that h2d does not know has no rules of its own: the application decides. */
static bool knows_method(struct h2d_req *req)
{
	return req->method != H2D_METHOD_UNKNOWN || opens_tunnel(req) ||
	       (req->location->proxy != NULL && !slice_eq(req->method_text, SLICE("CONNECT")));
}

void req_start(struct h2d_req *req)
{
	const struct err *err;
	bool well_formed;

	req_go(req, REQ_WAIT);
	if (req->conn->trusted)
		req_client_find(req);
	well_formed = set_site(req);
	err = read_line(req);
	if (__builtin_expect(req->env->conf.traced, false))
		trace_site(req);
	if (!gate_request(req))
		return;
	if (req->head_too_large) {
		wrong(req, ERR_FIELDS_TOO_LARGE, false);
		return;
	}
	if (!well_formed) {
		wrong(req, ERR_HOST, false);
		return;
	}
	if (__builtin_expect(req->method == H2D_METHOD_UNKNOWN, false) &&
		(err != NULL || !knows_method(req))) {
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
		wrong(req, err, true);
		return;
	}
	switch (gate_pass(req, gate_decided)) {
	case GATE_GO:
		start_handler(req);
		break;
	case GATE_LATER:
		req_body_line(req);
		break;
	case GATE_ANSWERED:
		break;
	}
}

void req_lose(struct h2d_req *req, const struct err *err, size_t n)
{
	if (err == ERR_BODY_TOO_LARGE) {
		too_large(req);
	} else if (!req->reply.ready) {
		req_refuse(req, err->status);
	} else {
		req_fault(req, err);
		req_cut(req);
	}
	req->stream->consume(req, n);
}

void req_retract(struct h2d_req *req)
{
	struct reply *r = &req->reply;

	if (req->state != REQ_REPLY)
		return;
	req_go(req, REQ_WAIT);
	body_close(&r->body);
	reply_no_fields(r);
	r->ready = r->content = r->duplex = false;
	req->error_status = 0;
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

static void count_gone(const struct h2d_req *req)
{
	COUNT(requests_live, -1);
	/* Requests to admin listeners do not count. */
	if (req->conn != NULL && req->conn->admin) {
		COUNT(requests_admin, 1);
		return;
	}
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

void req_fini(struct h2d_req *req)
{
	req_go(req, REQ_GONE);
	count_gone(req);
	if (req->gate != NULL)
		gate_leave(req);
	req_body_leave(req);
	handler_call_gone(req, req->handler);
	req->record.ended_us = req_record_now(req->env->conf.timed);
	if (req->trace != NULL)
		trace_log(req);
	if (req->env->finished != NULL)
		req->env->finished(req->env, req);
	if (req->pace != NULL)
		pace_end(req);
	body_close(&req->reply.body);
	account_close(&req->account);
	arena_fini(&req->arena);
}
