/*
 * websocket: a request that has become a WebSocket (h2d/websocket.h): a hook that reads frames out
 * of the request's body, and the source of a reply whose content is frames. Its protocol carries
 * bytes both ways and knows nothing of them.
 */
#ifndef H2D_API_WEBSOCKET_H
#define H2D_API_WEBSOCKET_H

#include "base/states.h"
#include "base/strbuf.h"
#include "event/loop.h"
#include "http/ws.h"
#include "request/req_body.h"
#include "share/budget.h"

enum websocket_state {
#define WEBSOCKET_STATE(name, next, help) WEBSOCKET_##name,
#include "api/websocket_state.def"
	WEBSOCKET_STATES
};
extern const struct states websocket_states;

/* All of a worker, and the memory that they may have; http_env has it. */
struct websockets {
	struct list all;
	struct budget budget;
};

/* Bytes that wait for the client. The piece that is being sent is not in the queue any more. */
struct websocket_out {
	struct body_queue queue;
	struct body_piece *piece; /* NULL: none */
	size_t at;                /* bytes of it that were sent */
};

/* Bytes of the client: a message that is not whole, and the piece that is being read. */
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
	uint64_t counted;  /* bytes that the client's account has for it */
	uint64_t heard_ms; /* when something came last */
	struct timer timer;
	struct task turn; /* reads on, or tells of room */
	struct list node; /* in all of websockets */
	bool paused;      /* by the handler */
	bool refused;     /* a message, for want of room, which the handler is to be told of */
	bool pinged;      /* the peer, which has said nothing since */
};

static inline size_t websocket_or(size_t n, size_t usual)
{
	return n > 0 ? n : usual;
}

/* Bytes that may wait for the peer; that wait. */
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

/* For a worker whose handlers take WebSockets; memory: bytes of messages that are not whole, or not
 * sent. NULL when memory is out. */
struct websockets *websockets_new(uint64_t memory);
void websockets_free(struct websockets **all);

/* The worker leaves: closes them all with 1001. all may be NULL. */
void websockets_drain(struct websockets *all);

/* websocket_in.c */

/* Whether frames are read: not while the handler has paused them, nor while the peer does not take
 * what it was sent, pongs say. */
bool websocket_reads(const struct websocket *ws);

/* Reads what came, as far as it may, and calls the handler. */
void websocket_read(struct websocket *ws);

/* Drops all that came and was not read. */
void websocket_drop(struct websocket *ws);

/* websocket_out.c */

/* The source of its reply's content. */
void websocket_body(struct body *b, struct websocket *ws);

/* Sends a frame. */
void websocket_put(struct websocket *ws, enum ws_op op, struct slice payload);

/* Sends a close, WS_NO_CODE: without one. */
void websocket_put_close(struct websocket *ws, enum ws_code code, struct slice reason);

/* Is the first to close, and waits for the peer's answer; nothing where it is closed. */
void websocket_close(struct websocket *ws, enum ws_code code, struct slice reason);

/* The peer did what it must not, or there is no room for it: says so, and waits for nothing. */
void websocket_fail(struct websocket *ws, enum ws_code code);

/* Nothing is read any more: tells the handler why. The stream ends behind what waits. */
void websocket_end(struct websocket *ws, enum ws_code code, struct slice reason);

/* The peer is lost, or memory is: ends its stream at once. */
void websocket_cut(struct websocket *ws);

/* Its account has what it holds now. */
void websocket_count(struct websocket *ws);

/* Whether the client may have n bytes more; if not, that is said. */
bool websocket_has_room(struct websocket *ws, size_t n);

void websocket_set_timer(struct websocket *ws, uint64_t ms);

#endif
