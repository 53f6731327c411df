/*
 * acceptor: the process that accepts the connections of all public listeners and passes each to a
 * worker, where `dispatch` is acceptor. A generation has one, with inboxes of its own. The master
 * calls acceptor_run() after the fork; the acceptor reads nothing of a connection.
 */
#ifndef H2D_SERVER_ACCEPTOR_H
#define H2D_SERVER_ACCEPTOR_H

#include "server/worker.h"

struct acceptor_args {
	const struct conf *conf;
	const struct board *board;
	uint32_t generation;
	int ctl;           /* to the master; end of file: it died */
	int error_log;     /* -1: none (syslog) */
	int (*inboxes)[2]; /* one per worker slot, of fdpass_pair() */
	unsigned ninboxes;
	bool heir; /* its master has not taken over yet: another one's acceptor serves */
	const struct worker_listener *listeners; /* all sockets that are accepted from here */
	unsigned nlisteners;
};

/* Accepts from CTL_SERVE to CTL_DRAIN; the exit status of the process. */
int acceptor_run(const struct acceptor_args *args);

#endif
