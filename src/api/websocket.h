/*
 * websocket: a request that has become a WebSocket (h2d/websocket.h): a hook that reads frames from
 * the request's body, and the source of a reply whose content is frames. Its protocol carries bytes
 * both ways without reading them.
 */
#pragma once

#include "base/states.h"
#include "base/strbuf.h"
#include "event/loop.h"
#include "http/ws.h"
#include "request/req_body.h"
#include "share/account.h"

enum websocket_state {
#define WEBSOCKET_STATE(name, next, help) WEBSOCKET_##name,
#include "api/websocket_state.def"
};
extern const struct states websocket_states;

/* All of a worker, and their memory limit; http_env has it. */
struct websockets {
	struct list all;
	struct budget budget;
};

/* Bytes that wait for the client, without the piece being sent. */
struct websocket_out {
	struct body_queue queue;
	struct body_piece *piece; /* NULL: none */
	size_t at;                /* bytes of it that were sent */
};

/* Bytes of the client: an incomplete message, and the piece being read. */
struct websocket_in {
	struct ws_in ws;
	struct strbuf message;
	struct body_piece *piece; /* NULL: none */
	size_t at;                /* bytes of it that were read */
};

/* In its request's arena. */
struct websocket {
	struct h2d_req *req;
	const struct h2d_websocket *kind;
	const char *protocol; /* NULL: none */
	enum websocket_state state;
	struct websocket_in in;
	struct websocket_out out;
	uint64_t counted;  /* bytes that count in the client's account */
	uint64_t heard_ms; /* when a byte last came */
	struct timer timer;
	struct task turn; /* reads on, or reports room */
	struct list node; /* in all of websockets */
	bool paused;      /* by the handler */
	bool refused;     /* a message, for lack of room, which the handler must be told */
	bool pinged;      /* the peer, which has been silent since */
};

static inline size_t websocket_or(size_t n, size_t usual)
{
	return n > 0 ? n : usual;
}

/* Most bytes that may wait for the peer; that wait. */
enum { WEBSOCKET_SEND_MAX = 256 << 10 };
static inline size_t websocket_send_max(const struct websocket *ws)
{
	return websocket_or(ws->kind->send_max, WEBSOCKET_SEND_MAX);
}

static inline size_t websocket_waiting(const struct websocket *ws)
{
	const struct websocket_out *o = &ws->out;

	return o->queue.n + (o->piece != NULL ? o->piece->n - o->at : 0);
}

/* websocket.c */

/* For a worker whose handlers take WebSockets; memory: bytes of incomplete or unsent messages. NULL
 * when memory is out. */
struct websockets *websockets_new(uint64_t memory);
void websockets_free(struct websockets **all);

/* Closes all with 1001, for a draining worker. all may be NULL. */
void websockets_drain(struct websockets *all);

/* websocket_in.c */

/* True if frames are read: not while the handler has paused them, nor while the peer does not take
 * output, such as pongs. */
bool websocket_reads(const struct websocket *ws);

/* Reads the bytes so far, as far as allowed, and calls the handler. */
void websocket_read(struct websocket *ws);

/* Drops all unread bytes. */
void websocket_drop(struct websocket *ws);

/* websocket_out.c */

/* The source of its reply's content. */
void websocket_body(struct body *b, struct websocket *ws);

/* Sends a frame. */
void websocket_put(struct websocket *ws, enum ws_op op, struct slice payload);

/* Sends a close; WS_NO_CODE: without a code. */
void websocket_put_close(struct websocket *ws, enum ws_code code, struct slice reason);

/* Sends the first close, and waits for the peer's answer; harmless if closed. */
void websocket_close(struct websocket *ws, enum ws_code code, struct slice reason);

/* For a peer's mistake, or lack of room: sends the code, and does not wait. */
void websocket_fail(struct websocket *ws, enum ws_code code);

/* Reading ends: tells the handler why. The stream ends after queued bytes. */
void websocket_end(struct websocket *ws, enum ws_code code, struct slice reason);

/* The peer or memory is lost: ends its stream at once. */
void websocket_cut(struct websocket *ws);

/* Counts its present memory in the account. */
void websocket_count(struct websocket *ws);

/* True if the client may have n bytes more; if not, logs it. */
bool websocket_has_room(struct websocket *ws, size_t n);

void websocket_set_timer(struct websocket *ws, uint64_t ms);
