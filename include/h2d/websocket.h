/*
 * h2d/websocket.h: WebSockets (RFC 6455): messages in both directions on one request, an HTTP/1.1
 * upgrade or an HTTP/2 extended CONNECT (RFC 8441). A handler sees GET in both cases. Included by
 * h2d/handler.h.
 *
 * A handler whose member websocket is set may answer with h2d_accept_websocket(), from start() or
 * later, if h2d_websocket_wanted(). h2d answers pings, joins fragments, checks that text is UTF-8,
 * and closes the WebSocket with a suitable code if the client makes a mistake. It supports no
 * extensions, so messages are not compressed. A worker that shuts down, after a reload for example,
 * closes all with code 1001, so that clients reconnect to the next worker.
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

/* Close codes (RFC 6455, 7.4.1). Applications may use 3000 to 4999 for their own. */
enum h2d_ws_code {
	H2D_WS_NORMAL = 1000,
	H2D_WS_GOING_AWAY = 1001,
	H2D_WS_PROTOCOL_ERROR = 1002, /* the client sent an invalid frame */
	H2D_WS_NO_CODE = 1005,        /* the client sent no code; never sent */
	H2D_WS_CUT_OFF = 1006,        /* the client disconnected without a close; never sent */
	H2D_WS_NOT_UTF8 = 1007,       /* the client sent text that is not UTF-8 */
	H2D_WS_POLICY = 1008,         /* the handler does not allow the message */
	H2D_WS_TOO_BIG = 1009,        /* the message exceeds message_max */
	H2D_WS_FAILED = 1011,         /* the handler cannot continue */
	H2D_WS_TRY_LATER = 1013,      /* the worker has no memory for the message */
};

/* The WebSockets of a handler; static. Callbacks run on the loop, and may make any call. */
struct h2d_websocket {
	/* A complete message of len bytes (possibly 0), valid during the call. Required. */
	void (*message)(struct h2d_req *req, void *state, enum h2d_ws_kind kind, const char *data,
		size_t len);
	/* There is room again for a message that h2d_websocket_send() refused. May be NULL. */
	void (*room)(struct h2d_req *req, void *state);
	/*
	 * The end, once, before gone(): the client's code and reason (UTF-8, valid during the
	 * call), or h2d's code with an empty reason. May be NULL.
	 */
	void (*closed)(struct h2d_req *req, void *state, int code, const char *reason, size_t len);
	/*
	 * Origins whose pages may connect, separated by spaces: "https://a.example
	 * https://b.example:8443"; "*": any page, with the browser's cookies for this site; NULL:
	 * pages of the requested host and port, so that other sites cannot act for their visitors.
	 * Clients without an origin are not browsers, and may connect.
	 */
	const char *origins;
	/* Subprotocols of the handler, best first, separated by spaces; NULL: none. */
	const char *protocols;
	/* The longest message accepted, in bytes; a longer one closes with 1009. 0: 65536. */
	size_t message_max;
	/* Bytes that may wait for the client. room() is called when half of them have been sent. A
	 * longer message cannot be sent. 0: 262144. */
	size_t send_max;
	/* Seconds of silence after which h2d sends a ping; after as many more it disconnects the
	 * client. 0: 30. */
	unsigned idle;
};

/* Whether the request is for a WebSocket, and the handler takes them. */
bool h2d_websocket_wanted(struct h2d_req *req);

/*
 * Replies by opening a WebSocket, with the response headers added before. Returns 0; or -1 after
 * the reply 400 (not wanted, a version other than 13, a malformed key), 403 (origin) or 503 (out of
 * memory), which is logged. In a worker that shuts down, the WebSocket is closed at once with 1001.
 * The route must have BODY_NONE.
 */
int h2d_accept_websocket(struct h2d_req *req);

/* The subprotocol in use, valid as long as the request; NULL: none. */
const char *h2d_websocket_protocol(const struct h2d_req *req);

/*
 * Sends a message of len bytes, which are copied. Returns 0, or -1 if it is not sent: there is no
 * room in send_max or in the client's share of limits.websocket-memory; there is no open WebSocket;
 * or the text is not UTF-8, which is logged.
 */
int h2d_websocket_send(struct h2d_req *req, enum h2d_ws_kind kind, const void *data, size_t len);

/* Bytes that wait for the client, with their frames; 0 without a WebSocket. */
size_t h2d_websocket_waiting(const struct h2d_req *req);

/*
 * Closes the WebSocket after the waiting messages, with a code (1000 to 4999, except codes that are
 * never sent) and a reason (UTF-8, up to 123 bytes; NULL: none). message() is not called again;
 * closed() is, when the client has answered, or five seconds later. Has no effect without an open
 * WebSocket.
 */
void h2d_websocket_close(struct h2d_req *req, int code, const char *reason);

/*
 * Stops calls of message() until h2d_websocket_resume(). Up to 64 KiB of messages wait in h2d,
 * others with the client. Its close waits, too. A second pause has no effect.
 */
void h2d_websocket_pause(struct h2d_req *req);

/* Resumes calls of message(), from the loop, never from inside this call. */
void h2d_websocket_resume(struct h2d_req *req);

#ifdef __cplusplus
}
#endif

#endif
