/*
 * conn_cleartext: a client that speaks HTTP/1 in cleartext to a listener of TLS. It is answered in
 * cleartext, by the way of any request, that it should ask for https. conn/conn.c calls it where
 * a handshake failed.
 */
#ifndef H2D_CONN_CONN_CLEARTEXT_H
#define H2D_CONN_CONN_CLEARTEXT_H

#include "conn/conn.h"

/*
 * Puts a cleartext transport in the place of TLS, over the same descriptor. How many bytes the
 * client has said: they are in env->input. 0: it is no such client, or memory is out.
 */
size_t conn_cleartext_take(struct conn *c);

#endif
