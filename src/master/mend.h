/*
 * mend: looks once a second whether the master's listening sockets still take connections. A worker
 * that was taken over can shut one down where no filter of system calls keeps it from that, and the
 * socket outlives the worker. One that was shut down listens again; of a unix socket another takes
 * the place, of which the processes are told.
 */
#ifndef H2D_MASTER_MEND_H
#define H2D_MASTER_MEND_H

#include "master/child.h"

struct master;

/* Looks at all sockets; once a second. */
void mend_second(struct master *m);

/* Messages of DUE_SOCKETS: each shared socket of c's generation, anew. */
child_fill_fn mend_fill;

#endif
