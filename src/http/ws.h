/*
 * ws: the frames of a WebSocket (RFC 6455, 5), for a server: removes masks, orders fragments,
 * checks UTF-8 and the codes of a close. No extension is supported. Pure: the caller keeps the
 * bytes of a message. Called by the request core.
 */
#pragma once

#include "base/slice.h"
#include "base/utf8.h"

enum ws_op {
	WS_CONTINUATION = 0,
	WS_TEXT = 1,
	WS_BINARY = 2,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10,
};

/* Codes of a close (RFC 6455, 7.4.1; 1013: IANA's registry). */
enum ws_code {
	WS_NORMAL = 1000,
	WS_GOING_AWAY = 1001,
	WS_PROTOCOL_ERROR = 1002,
	WS_NO_CODE = 1005, /* the peer sent none; never sent */
	WS_CUT_OFF = 1006, /* there was no close; never sent */
	WS_NOT_UTF8 = 1007,
	WS_TOO_BIG = 1009,
	WS_TRY_LATER = 1013,
};

enum {
	WS_HEAD_MAX = 14, /* of a client's frame, with its mask */
	WS_CONTROL_MAX = 125,
	WS_CODE_BYTES = 2,
	WS_CLOSE_MAX = WS_CONTROL_MAX - WS_CODE_BYTES, /* bytes of a reason */
};

enum ws_found {
	WS_MORE,    /* all bytes are used up */
	WS_PIECE,   /* bytes of the message in->message: perhaps none in the last one */
	WS_CONTROL, /* a ping, a pong or a close, op in->op */
	WS_FAULT,   /* the peer's, code in->code; reading ends */
};

struct ws_in {
	uint64_t message_max; /* bytes of a message */
	uint64_t message_n;   /* bytes of the one under way, with the current frame's */
	uint64_t left;        /* bytes of the frame's payload to come */
	enum ws_op message;   /* WS_TEXT or WS_BINARY; WS_CONTINUATION: none is under way */
	enum ws_op op;        /* of the frame */
	enum ws_code code;
	struct utf8_part utf8; /* of the text under way */
	bool fin;              /* of the frame */
	bool open;             /* the head is read: payload comes */
	bool last;             /* the piece that was found ends its message */
	uint8_t nhead, need;   /* bytes of the head that came, and its length */
	uint8_t ncontrol;
	uint8_t head[WS_HEAD_MAX];
	uint8_t mask[4]; /* rotated: the first is for the next byte */
	char control[WS_CONTROL_MAX];
};

void ws_in_init(struct ws_in *in, uint64_t message_max);

/*
 * Reads on at *data, unmasks the found bytes there, and moves *data behind them. found: the bytes
 * of a piece, in *data's memory, or of a control frame, which live until the next call.
 */
enum ws_found ws_next(struct ws_in *in, char **data, const char *end, struct slice *found);

struct ws_close {
	bool wrong;          /* the peer's close was illegal */
	enum ws_code code;   /* the peer's, or WS_NO_CODE */
	enum ws_code answer; /* to be sent in return; WS_NO_CODE: none */
	struct slice reason; /* a part of the payload */
};

/* Parses the payload of a close. */
struct ws_close ws_close_read(struct slice payload);

/* True if a server may send it in a close: one of the RFC's, or 3000 to 4999. */
bool ws_code_valid(unsigned code);

/* Writes the head of a whole frame of n bytes, not masked; returns its length. */
enum { WS_OUT_HEAD_MAX = 10 };
size_t ws_head(uint8_t head[WS_OUT_HEAD_MAX], enum ws_op op, uint64_t n);

/* --- the handshake (RFC 6455, 4): key, page and subprotocols ---------------------------------- */

/* True if a value of sec-websocket-key is 16 bytes in base64. */
bool ws_key_valid(struct slice key);

/*
 * True if the page of that origin ("https://example.com:8443") is of the server authority
 * ("example.com:8443"): the same host and port, either of which may omit the port of the origin's
 * scheme. https: the handshake used it, so must the page. False for "null".
 */
bool ws_origin_same(struct slice origin, struct slice authority, bool https);

/* True if the origin is in the list, which is separated by blanks; "*" is any. */
bool ws_origin_listed(struct slice origin, const char *list);

/*
 * The first subprotocol of the list spoken, separated by blanks, that is in the client's list
 * offered, with its commas: a part of spoken. n 0: none.
 */
struct slice ws_protocol_choose(const char *spoken, struct slice offered);
