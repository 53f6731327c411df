/*
 * conn_proxy: the PROXY header in front of a connection, of listeners with proxy-protocol. It is
 * taken from the socket before the transport reads a byte, and not a byte more. For conn/conn.c
 * only.
 */
#ifndef H2D_CONN_CONN_PROXY_H
#define H2D_CONN_CONN_PROXY_H

#include "conn/conn.h"

/*
 * True: the header is read, and c->http says whose connection it is. False: more of it has to come,
 * or c is dead, for it has none, or its proxy is not trusted.
 */
bool conn_proxy_take(struct conn *c);

#endif
