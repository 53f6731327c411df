/*
 * worker: one process that serves: a loop, its listeners, its connections, its view of the files.
 */
#pragma once

#include "base/addr.h"
#include "board/board.h"
#include "conf/conf.h"
#include "ipc/gifts.h"
#include "rules/site.h"
#include "sites/trees.h"
#include "tls/tls_ctx.h"

struct worker_listener {
	int fd;                         /* -1: another process accepts from it */
	uint32_t id;                    /* of the listener */
	uint32_t slot;                  /* number among its sockets */
	bool shared;                    /* all workers have it: a unix address */
	const struct conf_listen *conf; /* tls, admin */
	struct addr addr;
	const struct tls_ctx *tls; /* NULL: cleartext */
};

/* Serves until it is ordered to exit; the exit status of the process. */
int worker_run(const struct gifts *args);
