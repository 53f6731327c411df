/*
 * websocket: the life of a WebSocket on its request: the handshake (RFC 6455, 4.2; RFC 8441, 5),
 * the hook that gets the body, the timer that probes a silent peer, and the calls of handlers.
 * Browsers send any page's handshake with the user's cookies, so the origin is checked first.
 * Called by handlers, by the worker, and through request/req_body.h.
 */
#include "api/websocket.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "api/handler_worker.h"
#include "base/clock.h"
#include "base/counters.h"
#include "http/base64.h"
#include "request/handler_call.h"
#include "request/req_client.h"
#include "request/trace.h"

enum {
	MESSAGE_MAX = 64 << 10,
	IDLE = 30, /* seconds */
	SHA1_BYTES = 20,
	RETRY_MS = 1000,         /* when memory was out that others may have freed since */
	ACCOUNT_LEAST = 1 << 20, /* bytes that a client may hold, whatever others do */
};

static uint64_t idle_ms(const struct websocket *ws)
{
	return 1000 * (uint64_t)websocket_or(ws->kind->idle, IDLE);
}

static void turn(struct task *t)
{
	struct websocket *ws = LIST_ENTRY(t, struct websocket, turn);

	if (ws->refused && ws->state == WEBSOCKET_OPEN &&
		websocket_waiting(ws) <= websocket_send_max(ws) / 2) {
		ws->refused = false;
		if (ws->kind->room != NULL)
			HANDLER_CALL_DO(ws->req, ws->kind->room(ws->req, ws->req->handler_state));
	}
	websocket_read(ws);
}

/* --- time ------------------------------------------------------------------------------------- */

/* No byte came for long enough, while it could. */
static void silent(struct websocket *ws)
{
	if (ws->pinged) {
		websocket_cut(ws);
		return;
	}
	ws->pinged = true;
	websocket_put(ws, WS_PING, (struct slice){ 0 });
	if (ws->state != WEBSOCKET_ENDED)
		websocket_set_timer(ws, idle_ms(ws));
}

static void websocket_fired(struct timer *timer)
{
	struct websocket *ws = LIST_ENTRY(timer, struct websocket, timer);
	uint64_t ms = clock_ms() - ws->heard_ms, idle = idle_ms(ws);

	if (ws->state == WEBSOCKET_ASKED) {
		websocket_end(ws, WS_CUT_OFF, (struct slice){ 0 });
		return;
	}
	if (ws->refused)
		loop_ready(ws->req->env->loop, &ws->turn);
	if (!websocket_reads(ws))
		websocket_set_timer(ws, idle);
	else if (ms < idle)
		websocket_set_timer(ws, idle - ms);
	else
		silent(ws);
}

/* --- the request ------------------------------------------------------------------------------ */

static void on_body(struct h2d_req *req)
{
	struct websocket *ws = req->hook_state;

	ws->heard_ms = clock_ms();
	ws->pinged = false;
	websocket_read(ws);
}

static void on_gone(struct h2d_req *req)
{
	struct websocket *ws = req->hook_state;

	websocket_end(ws, WS_CUT_OFF, (struct slice){ 0 });
	websocket_drop(ws);
	loop_cancel(&ws->turn);
	body_queue_clear(&ws->out.queue);
	body_pieces_free(ws->out.piece);
	ws->out.piece = NULL;
	websocket_count(ws);
	list_remove(&ws->node);
	COUNT(websockets, -1);
}

static const struct req_hook hook = { .body = on_body, .gone = on_gone };

static struct websocket *socket_of(const struct h2d_req *req)
{
	return req->hook == &hook ? req->hook_state : NULL;
}

/* A new one, zeroed except req, kind and protocol, takes the request's body; its reply is being
 * sent. */
static void websocket_open(struct websocket *ws)
{
	struct h2d_req *req = ws->req;

	ws_in_init(&ws->in.ws, websocket_or(ws->kind->message_max, MESSAGE_MAX));
	timer_init(&ws->timer, websocket_fired);
	task_init(&ws->turn, turn);
	list_append(&req->env->api->websockets->all, &ws->node);
	COUNT(websockets, 1);
	/* After the handshake's own, none was expected. */
	req->body_queue.ended = false;
	req_hook(req, &hook, ws);
	/* No length of a body applies: each message has a limit of its own. */
	req->body_left = UINT64_MAX;
	ws->heard_ms = clock_ms();
	websocket_set_timer(ws, idle_ms(ws));
	if (req->env->draining)
		websocket_close(ws, WS_GOING_AWAY, (struct slice){ 0 });
}

/* --- the handshake ---------------------------------------------------------------------------- */

static struct slice field(const struct h2d_req *req, struct slice name)
{
	const struct field *f = field_find(req->fields, req->nfields, name);

	return f != NULL ? f->value : (struct slice){ 0 };
}

bool h2d_websocket_wanted(struct h2d_req *req)
{
	HANDLER_CALL();
	return req->handler != NULL && req->handler->websocket != NULL && req_asks_websocket(req);
}

/* RFC 8441, 5.1: an extended CONNECT has no key, because no old server could take it for a GET. */
static bool has_key(const struct h2d_req *req)
{
	return !slice_eq(req->method_text, SLICE("CONNECT"));
}

static bool origin_may(const struct h2d_req *req, const struct h2d_websocket *kind)
{
	struct slice origin = field(req, SLICE("origin"));

	if (origin.p == NULL)
		return true;
	return kind->origins != NULL
		       ? ws_origin_listed(origin, kind->origins)
		       : ws_origin_same(origin, req->authority, req_client_https(req));
}

/* NULL, or why it is refused. */
static const struct err *fault_of(struct h2d_req *req)
{
	if (!h2d_websocket_wanted(req))
		return ERR_WEBSOCKET_NONE;
	if (!slice_eq(field(req, SLICE("sec-websocket-version")), SLICE("13")))
		return ERR_WEBSOCKET_VERSION;
	if (has_key(req) && !ws_key_valid(field(req, SLICE("sec-websocket-key"))))
		return ERR_WEBSOCKET_KEY;
	return origin_may(req, req->handler->websocket) ? NULL : ERR_WEBSOCKET_ORIGIN;
}

static int websocket_accept_refuse(struct h2d_req *req, const struct err *err)
{
	TRACE_STEP(req, FAULT, NULL, "%s", err->text);
	if (err == ERR_WEBSOCKET_ORIGIN)
		err_log_about(err, req_client(req), field(req, SLICE("origin")));
	else
		err_log(err, req_client(req));
	req_record_error(&req->record, err);
	if (err == ERR_WEBSOCKET_VERSION)
		reply_add(req, SLICE("sec-websocket-version"), SLICE("13"));
	reply_error(req, err->status);
	return -1;
}

/* RFC 6455, 4.2.2: proves that the handshake was understood. */
static int add_accept(struct h2d_req *req)
{
	static const struct slice guid = SLICE_LIT("258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	struct slice key = field(req, SLICE("sec-websocket-key"));
	char *text = arena_alloc(&req->arena, key.n + guid.n);
	unsigned char sum[SHA1_BYTES];

	H2D_ASSERT(BASE64_ENCODED(SHA1_BYTES) <= guid.n);
	if (text == NULL)
		return -1;
	memcpy(text, key.p, key.n);
	memcpy(text + key.n, guid.p, guid.n);
	if (EVP_Digest(text, key.n + guid.n, sum, NULL, EVP_sha1(), NULL) != 1)
		return -1;
	base64_encode(sum, sizeof(sum), text);
	return reply_add(
		req, SLICE("sec-websocket-accept"), slice_of(text, BASE64_ENCODED(SHA1_BYTES)));
}

static int add_protocol(struct h2d_req *req, struct websocket *ws)
{
	struct slice chosen = { 0 };

	if (ws->kind->protocols != NULL)
		chosen = ws_protocol_choose(
			ws->kind->protocols, field(req, SLICE("sec-websocket-protocol")));
	if (chosen.n == 0)
		return 0;
	ws->protocol = arena_printf(&req->arena, "%.*s", SLICE_ARG(chosen));
	if (ws->protocol == NULL)
		return -1;
	return reply_add(req, SLICE("sec-websocket-protocol"), slice_str(ws->protocol));
}

int h2d_accept_websocket(struct h2d_req *req)
{
	const struct err *err;
	struct websocket *ws;

	HANDLER_CALL();
	if (!HANDLER_MAY(req, ONCE))
		return -1;
	err = fault_of(req);
	if (err != NULL)
		return websocket_accept_refuse(req, err);
	HANDLER_MUST(req, req->body_state == REQ_BODY_NONE || req->body_state == REQ_BODY_LINE,
		WEBSOCKET);
	ws = arena_zalloc(&req->arena, sizeof(*ws));
	if (ws == NULL || req->env->api->websockets == NULL)
		return websocket_accept_refuse(req, ERR_NO_MEMORY);
	ws->req = req;
	ws->kind = req->handler->websocket;
	if ((has_key(req) && add_accept(req) < 0) || add_protocol(req, ws) < 0)
		return websocket_accept_refuse(req, ERR_NO_MEMORY);
	websocket_body(&req->reply.body, ws);
	req->stream->tunnel(req);
	reply_send(req, 200);
	/* Memory was out. */
	if (req->reply.status != 200)
		return -1;
	websocket_open(ws);
	return 0;
}

/* --- all of a worker -------------------------------------------------------------------------- */

struct websockets *websockets_new(uint64_t memory)
{
	struct websockets *all = malloc(sizeof(*all));

	if (all == NULL)
		return NULL;
	list_init(&all->all);
	budget_init(&all->budget, ACCOUNT_MESSAGES, memory, ACCOUNT_LEAST, 1);
	return all;
}

void websockets_free(struct websockets **all)
{
	free(*all);
	*all = NULL;
}

void websockets_drain(struct websockets *all)
{
	if (all == NULL)
		return;
	LIST_EACH(struct websocket, ws, node, &all->all)
		websocket_close(ws, WS_GOING_AWAY, (struct slice){ 0 });
}

/* --- the calls of handlers -------------------------------------------------------------------- */

const char *h2d_websocket_protocol(const struct h2d_req *req)
{
	const struct websocket *ws = socket_of(req);

	HANDLER_CALL();
	return ws != NULL ? ws->protocol : NULL;
}

size_t h2d_websocket_waiting(const struct h2d_req *req)
{
	const struct websocket *ws = socket_of(req);

	HANDLER_CALL();
	return ws != NULL ? websocket_waiting(ws) : 0;
}

int h2d_websocket_send(struct h2d_req *req, enum h2d_ws_kind kind, const void *data, size_t len)
{
	struct websocket *ws = socket_of(req);
	struct slice message = slice_of(data, len);

	HANDLER_CALL();
	HANDLER_MUST(req, len <= PTRDIFF_MAX, LENGTH);
	if (ws == NULL || ws->state != WEBSOCKET_OPEN)
		return -1;
	if (websocket_waiting(ws) + len > websocket_send_max(ws) || !websocket_has_room(ws, len)) {
		ws->refused = true;
		/* Without queued bytes, none sent later will report room. */
		if (websocket_waiting(ws) <= websocket_send_max(ws) / 2)
			websocket_set_timer(ws, RETRY_MS);
		return -1;
	}
	if (kind == H2D_WS_TEXT && !utf8_whole(message)) {
		HANDLER_SLIP(req, "WebSocket text is not UTF-8; not sent");
		return -1;
	}
	websocket_put(ws, kind == H2D_WS_TEXT ? WS_TEXT : WS_BINARY, message);
	return ws->state == WEBSOCKET_OPEN ? 0 : -1;
}

void h2d_websocket_close(struct h2d_req *req, int code, const char *reason)
{
	struct websocket *ws = socket_of(req);

	HANDLER_CALL();
	HANDLER_MUST(req, code >= 0 && ws_code_valid((unsigned)code), CLOSE);
	if (ws != NULL)
		websocket_close(ws, (enum ws_code)code, utf8_cut(slice_str(reason), WS_CLOSE_MAX));
}

void h2d_websocket_pause(struct h2d_req *req)
{
	struct websocket *ws = socket_of(req);

	HANDLER_CALL();
	if (ws != NULL)
		ws->paused = true;
}

void h2d_websocket_resume(struct h2d_req *req)
{
	struct websocket *ws = socket_of(req);

	HANDLER_CALL();
	if (ws == NULL || !ws->paused)
		return;
	ws->paused = false;
	ws->heard_ms = clock_ms();
	loop_ready(req->env->loop, &ws->turn);
}
