/*
 * unsent: how many bytes that a socket was given may wait in the kernel before their turn on the
 * wire (TCP_NOTSENT_LOWAT), and how many do. Listeners set the least for all that they accept; a
 * connection widens its own. Sockets that are not TCP have no such limit, and tell no bytes.
 */
#ifndef H2D_NET_UNSENT_H
#define H2D_NET_UNSENT_H

#include <stddef.h>

enum {
	UNSENT_LEAST = 128 << 10, /* bytes; an urgent stream waits behind no more in the kernel */
	UNSENT_WIDE = 1 << 20,    /* bytes; of a connection on which nothing overtakes */
	UNSENT_RANGES = 4 << 20,  /* bytes; likewise, and they are the page cache's */
};

/* The socket takes no more while it has max bytes unsent, and tells of room at half of them. -1
 * with errno. */
int unsent_limit(int fd, int max);

/* Bytes that the socket has taken and not put on the wire yet; 0 where it does not tell. */
size_t unsent_bytes(int fd);

#endif
