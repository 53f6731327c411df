/*
 * fdpass: connections on their way from the acceptor to a worker, over an inbox: one
 * SOCK_SEQPACKET pair (ctl_pair()) per worker slot, one message per connection, its descriptor
 * attached (SCM_RIGHTS, unix(7)), many messages per system call. A connection that waits in an
 * inbox belongs to nobody but the kernel, so it outlives both processes as long as somebody holds
 * the end that receives. The functions keep no state and never block.
 */
#ifndef H2D_IPC_FDPASS_H
#define H2D_IPC_FDPASS_H

#include <stdint.h>

#include "base/addr.h"

enum {
	FDPASS_MAX = 16,  /* connections per call */
	FDPASS_SPARE = 8, /* descriptors that may be left to threads of the receiver */
};

struct fdpass {
	int fd; /* received -1: the descriptor is lost, this process has no room for it */
	uint32_t listener; /* the id of the one that it came to */
	struct addr peer;
};

/*
 * Sends the first of n connections (at most FDPASS_MAX), as many as there is room for; their
 * descriptors stay the caller's. How many, at least one; or -errno, -EAGAIN when the inbox is full.
 */
int fdpass_send(int fd, const struct fdpass *conns, unsigned n);

/*
 * Receives at most max (and FDPASS_MAX) connections; their descriptors are the caller's,
 * non-blocking and close-on-exec. How many; 0 at the end: nobody can send any more; or -errno,
 * -EAGAIN when nothing waits.
 */
int fdpass_recv(int fd, struct fdpass *conns, unsigned max);

/* How many connections wait in the inbox that fd receives from, as the kernel counts them. */
unsigned fdpass_waiting(int fd);

/* How many more descriptors this process may have beside spare, which is FDPASS_SPARE or less; at
 * most n. */
unsigned fdpass_room(int fd, unsigned n, unsigned spare);

#endif
