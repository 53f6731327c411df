/*
 * stream_handshake: what precedes the protocol: the PROXY header, on listeners with proxy-protocol,
 * and the handshake of the transport. A client that speaks HTTP/1 in cleartext to a listener of TLS
 * is answered in cleartext, by the way of any request, that it should ask for https.
 */
#ifndef H2D_CONN_STREAM_HANDSHAKE_H
#define H2D_CONN_STREAM_HANDSHAKE_H

#include "conn/stream_conn.h"

/*
 * Goes on. True once all is over: c->session.http says whose connection it is, and *said how many
 * bytes of the protocol are in env->input. False: more has to come, or c is dead.
 */
bool stream_handshake(struct stream_conn *c, size_t *said);

#endif
