/*
 * worker: one process that serves: a loop, its listeners, its connections, its view of the files.
 * The master calls worker_run() after the fork, with privileges already dropped; it never returns
 * to the master's code but to exit.
 */
#ifndef H2D_SERVER_WORKER_H
#define H2D_SERVER_WORKER_H

#include "base/addr.h"
#include "board/board.h"
#include "conf/conf.h"
#include "net/load.h"
#include "net/tls_ctx.h"
#include "request/site.h"
#include "sites/trees.h"

/* One listening socket of this worker. */
struct worker_listener {
	int fd;                         /* -1: another process accepts from it */
	uint32_t id;                    /* of the listener */
	uint32_t slot;                  /* which of its sockets */
	bool shared;                    /* all workers have it: a unix address */
	const struct conf_listen *conf; /* tls, admin */
	struct addr addr;
	const struct tls_ctx *tls; /* NULL: cleartext */
};

struct worker_args {
	const struct conf *conf;
	const struct trees *trees;
	const struct sites *sites;
	unsigned slot; /* worker slot: 0 … worker-processes - 1 */
	struct board *board;
	struct board_slot *board_slot; /* this process's own, writable */
	uint32_t generation;
	const int *keepers; /* where those that serve read doubts; now ours to close */
	unsigned nkeepers;
	int ctl;                /* to the master; end of file: it died */
	int error_log;          /* -1: syslog */
	const int *access_logs; /* in the order of conf_access_logs() */
	unsigned naccess_logs;
	struct load_slot *load; /* of this slot; NULL: connections are not balanced by it */
	int inbox;              /* -1: none */
	bool heir;              /* its master has not taken over yet: another one's serve */
	const struct worker_listener *listeners;
	unsigned nlisteners;
};

/* Serves until told to leave; the exit status of the process. */
int worker_run(const struct worker_args *args);

#endif
