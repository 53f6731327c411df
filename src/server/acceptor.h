/*
 * acceptor: the process that accepts the connections of all public listeners and passes each to a
 * worker, where `dispatch` is acceptor. A generation has one, with inboxes of its own. The master
 * calls acceptor_run() after the fork; the acceptor reads nothing of a connection.
 */
#ifndef H2D_SERVER_ACCEPTOR_H
#define H2D_SERVER_ACCEPTOR_H

#include "server/worker.h"

/* Accepts from CTL_SERVE to CTL_DRAIN; the exit status of the process. */
int acceptor_run(const struct gifts *args);

#endif
