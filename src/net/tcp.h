/* tcp: the cleartext transport, for TCP and unix stream sockets. */
#pragma once

#include <stddef.h>

#include "net/transport.h"

/* Takes fd (non-blocking). NULL when memory is out; fd then stays the caller's. */
struct transport *tcp_open(int fd);

/*
 * Bytes that wait unsent in the kernel (TCP_NOTSENT_LOWAT). Listeners set the least for all
 * accepted sockets; a connection widens its own. Only TCP sockets have this limit and report the
 * bytes.
 */
enum {
	TCP_UNSENT_LEAST =
		128 << 10,         /* bytes; an urgent stream waits behind no more in the kernel */
	TCP_UNSENT_WIDE = 1 << 20, /* bytes; of a connection without urgent streams */
	TCP_UNSENT_RANGES = 4 << 20, /* bytes; the same, of the page cache */
};

/* Limits the socket to max unsent bytes; it reports room at half of them. -1 with errno. */
int tcp_limit_unsent(int fd, int max);

/* Bytes that the socket has not sent yet; 0 if it does not report them. */
size_t tcp_unsent(int fd);
