/*
 * tcp: the cleartext transport, for TCP and unix stream sockets. worker_take() opens one for each
 * connection of a listener without TLS; everything after that goes through the transport table.
 */
#ifndef H2D_NET_TCP_H
#define H2D_NET_TCP_H

#include "net/transport.h"

/* Takes fd (non-blocking). NULL when memory is out; the caller then still owns fd. */
struct transport *tcp_open(int fd);

#endif
