/* worker_state: what a worker is made of; for server/worker.c and the dispatch strategies only. */
#ifndef H2D_SERVER_WORKER_STATE_H
#define H2D_SERVER_WORKER_STATE_H

#include "cache/files.h"
#include "event/loop.h"
#include "event/sig.h"
#include "http/date.h"
#include "server/access_log.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/worker.h"

struct worker {
	const struct worker_args *args;
	struct loop loop;
	struct sig sig;
	struct watch ctl;
	struct offload *offload;
	struct auth_desk *auth_desk;
	struct files *files;
	struct http_env http;
	struct conn_env conns;
	const struct dispatch_ops *dispatch_ops;
	struct dispatch *dispatch;     /* NULL once no connections are taken any more */
	bool paused;                   /* full */
	bool draining;
	bool orphan;                   /* the master is gone */
	struct timer second;           /* the date field */
	struct timer deadline;         /* of a drain */
	struct access_log access_log;
	char date[DATE_LEN + 1];
};

#endif
