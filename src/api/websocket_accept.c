/*
 * websocket_accept: the handshake (RFC 6455, 4.2; RFC 8441, 5): who may open a WebSocket, and the
 * answer. Browsers send any page's handshake with the user's cookies, so the origin is asked first.
 * Called by handlers.
 */
#include <openssl/evp.h>

#include "api/handler_worker.h"
#include "api/websocket.h"
#include "http/base64.h"
#include "http/ws.h"
#include "request/handler_rule.h"
#include "request/req_client.h"
#include "request/trace.h"

enum { SHA1_BYTES = 20 };

static struct slice field(const struct h2d_req *req, struct slice name)
{
	const struct field *f = field_find(req->fields, req->nfields, name);

	return f != NULL ? f->value : (struct slice){ 0 };
}

bool h2d_websocket_wanted(struct h2d_req *req)
{
	HANDLER_CALL();
	return req->handler != NULL && req->handler->websocket != NULL &&
	       req->stream->asks_tunnel != NULL && req->stream->asks_tunnel(req);
}

/* RFC 8441, 5.1: an extended CONNECT has no key, for no old server could take it for a GET. */
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

/* RFC 6455, 4.2.2: shows that it was read as what it is. */
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
	HANDLER_MUST(req, req->owes, ONCE);
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
	/* There were too many fields. */
	if (req->reply.status != 200)
		return -1;
	websocket_open(ws);
	return 0;
}
