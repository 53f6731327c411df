/*
 * websocket_in: reads frames from the request's body and gives messages to the handler. A peer that
 * does not take its output is not read further. Called by websocket.c.
 */
#include "api/websocket.h"
#include "request/handler_call.h"

void websocket_drop(struct websocket *ws)
{
	struct h2d_req *req = ws->req;
	size_t n = body_queue_clear(&req->body_queue);

	strbuf_fini(&ws->in.message);
	if (ws->in.piece != NULL) {
		n += ws->in.piece->n;
		body_pieces_free(ws->in.piece);
		ws->in.piece = NULL;
	}
	if (n > 0)
		req->stream->consume(req, n);
	websocket_count(ws);
}

static void deliver(struct websocket *ws, struct slice message)
{
	enum h2d_ws_kind kind = ws->in.ws.message == WS_TEXT ? H2D_WS_TEXT : H2D_WS_BINARY;

	if (ws->state == WEBSOCKET_OPEN)
		HANDLER_CALL_DO(ws->req, ws->kind->message(ws->req, ws->req->handler_state, kind,
						 message.p, message.n));
}

/* A message in one piece is not copied. */
static void got_piece(struct websocket *ws, struct slice piece)
{
	struct strbuf *message = &ws->in.message;

	if (ws->in.ws.last && message->n == 0) {
		deliver(ws, piece);
		return;
	}
	if (!websocket_has_room(ws, piece.n)) {
		websocket_fail(ws, WS_TRY_LATER);
		return;
	}
	strbuf_add(message, piece);
	websocket_count(ws);
	if (message->failed) {
		websocket_fail(ws, WS_TRY_LATER);
	} else if (ws->in.ws.last) {
		deliver(ws, slice_of(message->p, message->n));
		strbuf_fini(message);
		websocket_count(ws);
	}
}

static void got_close(struct websocket *ws, struct slice payload)
{
	struct ws_close c = ws_close_read(payload);

	if (ws->state == WEBSOCKET_OPEN)
		websocket_put_close(ws, c.answer, (struct slice){ 0 });
	if (c.wrong)
		websocket_end(ws, c.answer, (struct slice){ 0 });
	else
		websocket_end(ws, c.code, c.reason);
}

bool websocket_reads(const struct websocket *ws)
{
	return ws->state != WEBSOCKET_ENDED && !ws->paused &&
	       websocket_waiting(ws) <= websocket_send_max(ws);
}

/* The next piece of the body, once the current one is used up and its credit given back. */
static bool has_piece(struct websocket *ws)
{
	struct websocket_in *in = &ws->in;
	struct body_piece *used = in->piece;

	if (used != NULL && in->at < used->n)
		return true;
	in->piece = body_queue_take(&ws->req->body_queue);
	in->at = 0;
	if (used != NULL) {
		ws->req->stream->consume(ws->req, used->n);
		body_pieces_free(used);
	}
	return in->piece != NULL;
}

static void read_some(struct websocket *ws)
{
	struct websocket_in *in = &ws->in;
	char *p = in->piece->bytes + in->at;
	struct slice found;
	enum ws_found what = ws_next(&in->ws, &p, in->piece->bytes + in->piece->n, &found);

	in->at = (size_t)(p - in->piece->bytes);
	switch (what) {
	case WS_MORE:
		break;
	case WS_PIECE:
		got_piece(ws, found);
		break;
	case WS_CONTROL:
		if (in->ws.op == WS_CLOSE)
			got_close(ws, found);
		else if (in->ws.op == WS_PING && ws->state == WEBSOCKET_OPEN)
			websocket_put(ws, WS_PONG, found);
		break;
	case WS_FAULT:
		websocket_fail(ws, in->ws.code);
		break;
	}
}

void websocket_read(struct websocket *ws)
{
	while (websocket_reads(ws) && has_piece(ws))
		read_some(ws);
	if (websocket_reads(ws) && ws->req->body_queue.ended)
		websocket_end(ws, WS_CUT_OFF, (struct slice){ 0 });
	if (ws->state == WEBSOCKET_ENDED)
		websocket_drop(ws);
}
