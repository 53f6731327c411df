/*
 * mend: looks once a second whether the master's listening sockets still take connections. A worker
 * that was taken over can shut one down where no filter of system calls keeps it from that, and the
 * socket outlives the worker. One that was shut down listens again; of a unix socket another takes
 * the place, of which the processes are told.
 */
#ifndef H2D_MASTER_MEND_H
#define H2D_MASTER_MEND_H

#include <stdbool.h>

#include "master/child.h"

struct master;

/* Looks at all sockets; once a second. */
void mend_second(struct master *m);

/* The next message of DUE_SOCKETS to c; false: there is none. The descriptor stays the master's. */
bool mend_fill(const struct child *c, struct ctl_msg *msg, int *fds, int *nfds);

/* The message of mend_fill() was sent. True: there may be another. */
bool mend_sent(struct child *c);

/* All messages of DUE_SOCKETS to c are due again. */
void mend_again(struct child *c);

#endif
