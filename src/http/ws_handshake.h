/*
 * ws_handshake: what a request that asks for a WebSocket says of itself (RFC 6455, 4): its key, the
 * page that it comes from, the subprotocols that it speaks. Pure. Called by the request core.
 */
#ifndef H2D_HTTP_WS_HANDSHAKE_H
#define H2D_HTTP_WS_HANDSHAKE_H

#include "base/slice.h"

/* A value of sec-websocket-key: whether it is 16 bytes in base64. */
bool ws_key_valid(struct slice key);

/*
 * Whether the page of that origin ("https://example.com:8443") is of the server that authority
 * ("example.com:8443") names: the same host, and the same port, where that of the origin's scheme
 * may be left out of either. https: the handshake came that way, so must the page. Never for
 * "null".
 */
bool ws_origin_same(struct slice origin, struct slice authority, bool https);

/* Whether the origin is one of the list, which blanks divide; "*" is each. */
bool ws_origin_listed(struct slice origin, const char *list);

/*
 * The first subprotocol of the list spoken, which blanks divide, that the client's list offered,
 * with its commas, has: a part of spoken. n 0: none.
 */
struct slice ws_protocol_choose(const char *spoken, struct slice offered);

#endif
