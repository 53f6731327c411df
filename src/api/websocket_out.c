/*
 * websocket_out: output to the peer: whole frames, and the source of content in which they wait;
 * the memory counted for it; and its end. Called by websocket.c and websocket_in.c, and by
 * protocols through request/body.h.
 */
#include "api/websocket.h"

#include "api/handler_worker.h"
#include "base/clock.h"
#include "request/handler_call.h"
#include "request/req_client.h"

enum { CLOSE_MS = 5000 }; /* for the peer's close after ours */

const struct states websocket_states = {
	.of = "WebSocket",
	.rows = {
#define WEBSOCKET_STATE(name, next, help) { #name, next },
#include "api/websocket_state.def"
	},
};

static void websocket_go(struct websocket *ws, enum websocket_state state)
{
	STATES_STEP(&websocket_states, ws->state, state);
}

void websocket_set_timer(struct websocket *ws, uint64_t ms)
{
	timer_arm(&ws->req->env->loop->wheel, &ws->timer, clock_ms() + ms);
}

/* --- memory ----------------------------------------------------------------------------------- */

void websocket_count(struct websocket *ws)
{
	struct budget *b = &ws->req->env->api->websockets->budget;
	const struct body_piece *sent = ws->out.piece;
	uint64_t held = ws->out.queue.cost + ws->in.message.cap;

	if (sent != NULL)
		held += sizeof(*sent) + (sent->pooled ? BODY_PIECE : sent->cap);
	if (held > ws->counted)
		budget_take(b, req_account(ws->req), held - ws->counted);
	else if (held < ws->counted)
		budget_give(b, req_account(ws->req), ws->counted - held);
	ws->counted = held;
}

bool websocket_has_room(struct websocket *ws, size_t n)
{
	if (n <= budget_room(&ws->req->env->api->websockets->budget, req_account(ws->req)))
		return true;
	err_log(ERR_WEBSOCKET_MEMORY, req_client(ws->req));
	return false;
}

/* --- its end ---------------------------------------------------------------------------------- */

static void call_closed(struct websocket *ws, enum ws_code code, struct slice reason)
{
	char text[WS_CLOSE_MAX + 1] = "";

	if (ws->kind->closed == NULL)
		return;
	if (reason.n > 0)
		memcpy(text, reason.p, reason.n);
	HANDLER_CALL_DO(
		ws->req, ws->kind->closed(ws->req, ws->req->handler_state, code, text, reason.n));
}

void websocket_end(struct websocket *ws, enum ws_code code, struct slice reason)
{
	if (ws->state == WEBSOCKET_ENDED)
		return;
	websocket_go(ws, WEBSOCKET_ENDED);
	timer_disarm(&ws->req->env->loop->wheel, &ws->timer);
	loop_cancel(&ws->turn);
	call_closed(ws, code, reason);
	req_resume(ws->req);
}

void websocket_cut(struct websocket *ws)
{
	ws->req->stream->cut(ws->req);
	websocket_end(ws, WS_CUT_OFF, (struct slice){ 0 });
}

/* --- frames ----------------------------------------------------------------------------------- */

/* A whole frame, or the end: after half a frame a peer cannot read on. */
void websocket_put(struct websocket *ws, enum ws_op op, struct slice payload)
{
	struct body_queue *q = &ws->out.queue;
	uint8_t head[WS_OUT_HEAD_MAX];
	size_t n = ws_head(head, op, payload.n);

	if (body_queue_put(q, head, n) < n || body_queue_put(q, payload.p, payload.n) < payload.n) {
		websocket_cut(ws);
	}
	websocket_count(ws);
	req_resume(ws->req);
}

void websocket_put_close(struct websocket *ws, enum ws_code code, struct slice reason)
{
	char payload[WS_CONTROL_MAX] = { (char)(code >> 8), (char)(code & 0xff) };
	size_t n = reason.n < WS_CLOSE_MAX ? reason.n : WS_CLOSE_MAX;

	if (n > 0)
		memcpy(payload + WS_CODE_BYTES, reason.p, n);
	websocket_put(ws, WS_CLOSE, slice_of(payload, code == WS_NO_CODE ? 0 : WS_CODE_BYTES + n));
}

void websocket_close(struct websocket *ws, enum ws_code code, struct slice reason)
{
	if (ws->state != WEBSOCKET_OPEN)
		return;
	websocket_put_close(ws, code, reason);
	if (ws->state != WEBSOCKET_OPEN)
		return;
	websocket_go(ws, WEBSOCKET_ASKED);
	websocket_set_timer(ws, CLOSE_MS);
}

void websocket_fail(struct websocket *ws, enum ws_code code)
{
	if (ws->state == WEBSOCKET_OPEN)
		websocket_put_close(ws, code, (struct slice){ 0 });
	websocket_end(ws, code, (struct slice){ 0 });
}

/* --- the source of content -------------------------------------------------------------------- */

static ssize_t out_ready(struct body *b, size_t want)
{
	struct websocket *ws = b->src;
	struct websocket_out *o = &ws->out;
	size_t n;

	if (o->piece == NULL) {
		o->piece = body_queue_take(&o->queue);
		o->at = 0;
	}
	if (o->piece == NULL) {
		if (ws->state != WEBSOCKET_ENDED)
			return BODY_LATER;
		b->left = 0;
		return 0;
	}
	n = o->piece->n - o->at;
	return (ssize_t)(n < want ? n : want);
}

static int out_emit(struct body *b, size_t n, struct outq *q)
{
	struct websocket *ws = b->src;
	struct websocket_out *o = &ws->out;
	size_t before = websocket_waiting(ws), half = websocket_send_max(ws) / 2;

	if (n == 0)
		return 0;
	if (outq_copy(q, o->piece->bytes + o->at, n) < 0)
		return -1;
	o->at += n;
	if (o->at == o->piece->n) {
		body_pieces_free(o->piece);
		o->piece = NULL;
		websocket_count(ws);
	}
	/* Never from here: this is the protocol's turn. */
	if (ws->state != WEBSOCKET_ENDED && before > half && websocket_waiting(ws) <= half)
		loop_ready(ws->req->env->loop, &ws->turn);
	return 0;
}

static const struct body_ops out_ops = {
	.name = "websocket",
	.ready = out_ready,
	.emit = out_emit,
};

void websocket_body(struct body *b, struct websocket *ws)
{
	b->ops = &out_ops;
	b->req = ws->req;
	b->left = BODY_UNKNOWN;
	b->src = ws;
}
