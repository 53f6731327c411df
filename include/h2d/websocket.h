/*
 * h2d/websocket.h: WebSockets (RFC 6455): messages both ways on one request, which came by an
 * upgrade of HTTP/1.1 or by an extended CONNECT of HTTP/2 (RFC 8441); a handler sees GET either
 * way. Included by h2d/handler.h.
 *
 * A handler whose member websocket is set may answer a request that h2d_websocket_wanted() with
 * h2d_accept_websocket(), from start() or later. Pings are answered, fragments put together, text
 * is checked to be UTF-8, and mistakes of the client end in a close of their own code. No extension
 * is spoken, so nothing is compressed. A worker that leaves, after a reload say, closes all with
 * code 1001: clients come back to the next one.
 */
#ifndef H2D_WEBSOCKET_H
#define H2D_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;

/* Kinds of messages. */
enum h2d_ws_kind {
	H2D_WS_TEXT,   /* UTF-8 */
	H2D_WS_BINARY, /* any bytes */
};

/* Codes of a close: why it ends (RFC 6455, 7.4.1). Applications have 3000 to 4999 for their own. */
enum h2d_ws_code {
	H2D_WS_NORMAL = 1000,
	H2D_WS_GOING_AWAY = 1001,
	H2D_WS_PROTOCOL_ERROR = 1002, /* the client sent what is no frame */
	H2D_WS_NO_CODE = 1005,        /* the client said none; never sent */
	H2D_WS_CUT_OFF = 1006,        /* the client is gone without a close; never sent */
	H2D_WS_NOT_UTF8 = 1007,       /* the client sent text that is none */
	H2D_WS_POLICY = 1008,         /* the message is not what the handler allows */
	H2D_WS_TOO_BIG = 1009,        /* the message is longer than message_max */
	H2D_WS_FAILED = 1011,         /* the handler cannot go on */
	H2D_WS_TRY_LATER = 1013,      /* the worker has no memory for the client's message */
};

/* The WebSockets of a handler; static. Callbacks run on the loop, and any call may follow. */
struct h2d_websocket {
	/* A message is there whole: len bytes of data (0 too), which live for the call. Required.
	 */
	void (*message)(struct h2d_req *req, void *state, enum h2d_ws_kind kind, const char *data,
		size_t len);
	/* A message that h2d_websocket_send() refused for want of room may be tried again. May be
	 * NULL. */
	void (*room)(struct h2d_req *req, void *state);
	/*
	 * Nothing comes any more, once, before gone(): the client's code and reason (UTF-8, lives
	 * for the call), or why the server has ended it, without one. May be NULL.
	 */
	void (*closed)(struct h2d_req *req, void *state, int code, const char *reason, size_t len);
	/*
	 * Origins whose pages may open it, "https://a.example https://b.example:8443", blanks
	 * between them; "*": any page in any browser, with the cookies that it has of this site.
	 * NULL: pages of the host and port that the request names, which is what keeps others from
	 * speaking for their visitors. Clients that say no origin are no browsers, and may.
	 */
	const char *origins;
	/* Subprotocols that the handler speaks, the best first, blanks between them; NULL: none. */
	const char *protocols;
	/* Bytes of the longest message that is taken; longer ones end in 1009. 0: 65536. */
	size_t message_max;
	/* Bytes that may wait for the client: room() tells when half of them are gone. A longer
	 * message cannot be sent. 0: 262144. */
	size_t send_max;
	/* Seconds of silence after which the client is sent a ping, and as many again after which
	 * it is cut off. 0: 30. */
	unsigned idle;
};

/* Whether the request asks for a WebSocket, and this handler's routes take them. */
bool h2d_websocket_wanted(struct h2d_req *req);

/*
 * The reply: a WebSocket is open, with the response fields that were said before. 0. Or -1, and the
 * reply was an error: 400 (not wanted, another version than 13, a malformed key), 403 (the origin)
 * or 503 (memory is out); the log says which. In a worker that leaves it is closed at once, with
 * 1001. The route's request body is H2D_BODY_NONE.
 */
int h2d_accept_websocket(struct h2d_req *req);

/* The subprotocol that was agreed on; ends in NUL, lives as long as the request; NULL: none. */
const char *h2d_websocket_protocol(const struct h2d_req *req);

/*
 * Sends a message of len bytes, which are copied. 0, or -1: it is not sent, for it finds no room in
 * send_max or in the memory that this client may have of the worker's (limits.websocket-memory);
 * the WebSocket is closed, or there is none; or it is no UTF-8, which the log says.
 */
int h2d_websocket_send(struct h2d_req *req, enum h2d_ws_kind kind, const void *data, size_t len);

/* Bytes that wait for the client, with their frames; 0 where there is no WebSocket. */
size_t h2d_websocket_waiting(const struct h2d_req *req);

/*
 * Closes it behind what waits: with a code (1000 to 4999, none of those that are never sent) and a
 * reason (UTF-8, up to 123 bytes, ends in NUL; NULL: none). No message comes any more; closed()
 * does, when the client has answered, or five seconds later. Harmless if it is closed, or there is
 * none.
 */
void h2d_websocket_close(struct h2d_req *req, int code, const char *reason);

/*
 * From now on message() is not called, until h2d_websocket_resume(): what comes meanwhile waits, up
 * to 64 KiB of it here, then with the client. Its close waits, too. Paused twice is paused once.
 */
void h2d_websocket_pause(struct h2d_req *req);

/* Messages come again: from the loop, never from inside this call. */
void h2d_websocket_resume(struct h2d_req *req);

#ifdef __cplusplus
}
#endif

#endif
