/*
 * shrink: closes the listening sockets for which a generation with fewer workers has no slot. Its
 * workers accept from them until the generations before have ended; then no new connections come
 * there, queued ones move to other sockets or have been taken, and the last holder closes.
 */
#pragma once

#include "master/child.h"

struct master;

void shrink_init(struct master *m);
void shrink_begin(struct master *m);

/* Ends with the master. */
void shrink_stop(struct master *m);

/* Messages of DUE_UNLISTEN: each closed socket. */
child_fill_fn shrink_fill;

/*
 * balance: makes the kernel choose the worker of a new connection by the serving generation's key.
 * Called when a generation is put into service, and when a socket was replaced or closed.
 */

/* For all listening sockets. If the kernel refuses there is a warning, and hash. */
void balance_apply(struct master *m);
