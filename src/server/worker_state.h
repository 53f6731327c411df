/*
 * worker_state: the parts of a worker. For server/worker*.c only; a strategy gets a dispatch_host,
 * and who counts connections asks sessions, whatever kind they are of.
 */
#ifndef H2D_SERVER_WORKER_STATE_H
#define H2D_SERVER_WORKER_STATE_H

#include "board/admin.h"
#include "board/recent.h"
#include "event/loop.h"
#include "event/sig.h"
#include "files/files.h"
#include "http/date.h"
#include "net/ctl_link.h"
#include "net/load.h"
#include "proto/ahead.h"
#include "request/holding.h"
#include "request/pace.h"
#include "server/access_logs.h"
#include "server/dispatch.h"
#include "server/worker.h"
#include "server/worker_client_ca.h"
#include "session/sessions.h"

/* Room of a worker, for each kind. */
struct worker_room {
	unsigned connections, files;
};

/* Whether the master knows that the worker is full; worker_room's own. */
struct worker_full {
	struct timer tell;
	bool told;
};

/* worker_load's own. */
struct worker_load {
	struct timer timer;
	struct load_seen seen;
	uint32_t came; /* connections accepted from sockets of this worker's slot */
	uint32_t live; /* open connections when one came or went last */
	uint32_t shown;
};

/* worker_strain's own. */
struct worker_strain {
	struct timer timer;
	uint64_t at_us, used_us; /* when it looked last, and the processor's time by then */
};

/* worker_trim's own. */
struct worker_trim {
	unsigned crowd; /* connections at most, since memory was given back */
	int64_t work;   /* the most in a second, since then */
	int64_t done;   /* ever, at the last look */
	unsigned
		away; /* looks in a row at which half of the crowd, or most of the work, was gone */
};

struct worker {
	const struct gifts *args;
	struct loop loop;
	struct sig sig;
	struct ctl_link ctl;
	struct offload *offload;
	struct work_line *work_line;
	struct auth_queue *auth_queue;
	struct ahead ahead;
	struct pacer pacer;
	struct holding uploads;
	struct accounts *accounts; /* of the clients of its connections and requests */
	struct files *files;
	struct http_env http;
	struct admin admin;
	struct sessions sessions;
	struct stream_env
		*streams; /* a kind of session, which worker.c and worker_trim.c name alone */
	struct dispatch_host dispatch_host;
	uint32_t inbox_taken; /* its strategy counts */
	const struct dispatch_ops *dispatch_ops;
	struct dispatch *dispatch; /* NULL: no connections are taken yet, or any more */
	struct worker_client_ca client_ca;
	struct worker_room room;
	struct worker_full full;
	struct worker_load load;
	struct worker_strain strain;
	struct worker_trim trim;
	struct recent recent;
	uint64_t conns_asked_ms; /* clock_ms(), worker_conns' own; 0: never */
	enum board_state state;  /* worker_go() alone writes it */
	struct timer second;     /* the date field */
	struct timer deadline;   /* of a drain */
	bool stops;              /* it is that of a stop */
	struct access_logs access_logs;
	uint16_t *rows; /* of the sites, see board/server_counts.h; NULL: they are not counted apart
			 */
	char date[DATE_LEN + 1];
};

#endif
