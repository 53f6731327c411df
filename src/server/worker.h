/*
 * worker: one process that serves: a loop, its listeners, its connections, its view of the files.
 * Entered by the master after the fork, with privileges already dropped; never returns to it.
 */
#ifndef H2D_SERVER_WORKER_H
#define H2D_SERVER_WORKER_H

#include "conf/conf.h"
#include "http/site.h"
#include "net/addr.h"
#include "net/tls_ctx.h"
#include "server/board.h"
#include "server/trees.h"

/* One listening socket of this worker. */
struct worker_listener {
	int fd;
	const struct conf_listen *conf;   /* tls, admin */
	struct addr addr;
	const struct tls_ctx *tls;        /* NULL: cleartext */
};

struct worker_args {
	const struct conf *conf;
	const struct trees *trees;
	const struct sites *sites;
	unsigned slot;                    /* worker slot: 0 … worker-processes - 1 */
	struct board *board;
	struct board_slot *board_slot;    /* this process's own, writable */
	uint32_t generation;
	int ctl;                          /* to the master; end of file: it died */
	int error_log, access_log;        /* -1: none (error log: syslog) */
	const struct worker_listener *listeners;
	unsigned nlisteners;
};

/* Serves until told to leave; the exit status of the process. */
int worker_run(const struct worker_args *args);

struct worker;

/* A new connection for w: takes fd, whichever way it came. */
void worker_take(struct worker *w, int fd, const struct addr *peer,
	const struct worker_listener *from);

#endif
