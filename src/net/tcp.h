/*
 * tcp: the cleartext transport, for TCP and unix stream sockets. worker_take() opens one for each
 * connection of a listener without TLS; everything after that goes through the transport table.
 */
#ifndef H2D_NET_TCP_H
#define H2D_NET_TCP_H

#include <stddef.h>

#include "net/transport.h"

/* Takes fd (non-blocking). NULL when memory is out; the caller then still owns fd. */
struct transport *tcp_open(int fd);

/*
 * Bytes that a socket was given and that wait in the kernel before their turn on the wire
 * (TCP_NOTSENT_LOWAT). Listeners set the least for all that they accept; a connection widens its
 * own. Sockets that are not TCP have no such limit, and tell no bytes.
 */
enum {
	TCP_UNSENT_LEAST =
		128 << 10,         /* bytes; an urgent stream waits behind no more in the kernel */
	TCP_UNSENT_WIDE = 1 << 20, /* bytes; of a connection on which nothing overtakes */
	TCP_UNSENT_RANGES = 4 << 20, /* bytes; likewise, and they are the page cache's */
};

/* The socket takes no more while it has max bytes unsent, and tells of room at half of them. -1
 * with errno. */
int tcp_limit_unsent(int fd, int max);

/* Bytes that the socket has taken and not put on the wire yet; 0 where it does not tell. */
size_t tcp_unsent(int fd);

#endif
