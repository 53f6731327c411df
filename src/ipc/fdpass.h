/*
 * fdpass: connections on their way from the acceptor to a worker, over an inbox: one pair
 * (scm_pair()) per worker slot, one message per connection, its descriptor attached (unix(7)). The
 * kernel alone owns a waiting connection, so it outlives both processes as long as any process
 * holds the receiving end. The functions keep no state and never block.
 */
#pragma once

#include <stdint.h>

#include "base/addr.h"

enum {
	FDPASS_MAX = 16,  /* connections per call */
	FDPASS_SPARE = 8, /* descriptors that the receiver's threads may still hold */
};

struct fdpass {
	int fd;            /* received -1: lost, this process has no room for it */
	uint32_t listener; /* the id of its listener */
	struct addr peer;
};

/*
 * Sends as many of n connections (at most FDPASS_MAX) as fit; their descriptors stay the caller's.
 * Returns how many, at least one; or -errno, -EAGAIN when the inbox is full.
 */
int fdpass_send(int fd, const struct fdpass *conns, unsigned n);

/*
 * Receives at most max (and FDPASS_MAX) connections; their descriptors are the caller's,
 * non-blocking and close-on-exec. Returns how many; 0 at the end: no sender is left; or -errno,
 * -EAGAIN when the inbox is empty.
 */
int fdpass_recv(int fd, struct fdpass *conns, unsigned max);

/* The number of connections in the inbox that fd receives from, as counted by the kernel. */
unsigned fdpass_waiting(int fd);

/* The number of further descriptors this process may have, beside spare (at most FDPASS_SPARE); at
 * most n. */
unsigned fdpass_room(int fd, unsigned n, unsigned spare);
