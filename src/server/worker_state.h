/*
 * worker_state: the parts of a worker. For server/worker*.c only; dispatch gets a dispatch_host,
 * and sessions counts connections of all kinds.
 */
#pragma once

#include "api/handler_worker.h"
#include "board/admin.h"
#include "board/board.h"
#include "event/loop.h"
#include "files/files.h"
#include "http/date.h"
#include "ipc/ctl.h"
#include "proto/window.h"
#include "request/pace.h"
#include "server/access_logs.h"
#include "server/dispatch.h"
#include "server/worker.h"
#include "session/sessions.h"
#include "share/tally.h"
#include "upstream/upstream.h"

/*
 * worker_strain: measures a worker's load: its share of a processor, and the delay of its loop.
 * Only with a listener that reports it to a load balancer (haproxy-agent).
 */

struct worker;

/* Starts to measure, and shows it on the scoreboard, if there is such a listener. */
void worker_strain_start(struct worker *w);

/* Answers a client of such a listener, and closes fd. */
void worker_strain_answer(struct worker *w, int fd);

/* Room of a worker, for each kind. */
struct worker_room {
	unsigned connections, files;
};

/* True if the master knows that the worker is full; worker_room's own. */
struct worker_full {
	struct timer tell;
	bool told;
};

struct worker_strain {
	struct timer timer;
	uint64_t at_us, used_us; /* time of the last look, and the processor time then */
};

struct worker_trim {
	unsigned crowd; /* most connections since the last trim */
	int64_t work;   /* the most in a second, since then */
	int64_t done;   /* total at the last look */
	unsigned away;  /* consecutive looks at which half of the crowd, or most of the work, was
			 * gone */
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
	struct api api;
	struct admin admin;
	struct sessions sessions;
	struct stream_env
		*streams; /* a kind of session, named by worker.c and worker_trim.c alone */
	struct dispatch_host dispatch_host;
	struct dispatch *dispatch; /* NULL: no connections are taken, yet or any more */
	struct worker_room room;
	struct worker_full full;
	struct worker_strain strain;
	struct worker_trim trim;
	struct recent recent;
	uint64_t conns_asked_ms; /* clock_ms(), worker_conns' own; 0: never */
	enum board_state state;  /* worker_go() alone writes it */
	struct timer second;     /* the date header */
	struct timer deadline;   /* of a drain */
	bool stops;              /* it is that of a stop */
	struct access_logs access_logs;
	uint16_t *peer_rows; /* of the servers of applications, likewise */
	uint16_t *rows;      /* of the sites, see board/board.h; NULL: not counted separately */
	char date[DATE_LEN + 1];
};

/*
 * worker_trim: gives memory back to the system when a crowd of connections has left, or after much
 * work: memory of pools and free lists, and malloc's free memory. For server/worker.c only.
 */

/* Called before the first thread. */
void worker_trim_start(void);
void worker_trim_taken(struct worker *w);

/* Called each second. */
void worker_trim_look(struct worker *w);

/*
 * worker_room: a worker's room for connections, by its configuration and its limit of descriptors.
 * When it is full, a silent or the longest idle connection is evicted (sessions.h), or, without
 * one, connections wait in the queue and the master is told: it lends the sockets to a neighbour.
 * For server/worker.c only.
 */

/* Divides that many descriptors. */
struct worker_room worker_room_of(uint64_t descriptors, unsigned worker_connections);

void worker_room_start(struct worker *w);

/* Called each second, and at the start: the limit may have been changed. */
void worker_room_look(struct worker *w);

/* The number of connections that may be taken at once; at least one, for which another may be
 * evicted. */
unsigned worker_room_left(const struct worker *w);
void worker_room_taken(struct worker *w);

/* A connection has ended, or become idle. */
void worker_room_freed(struct worker *w);

/*
 * worker_life: the states of a worker: it is up, takes connections when its generation serves, and
 * at its end finishes requests, and cuts those that are too slow. For server/worker*.c only.
 */

void worker_life_init(struct worker *w);
void worker_life_stop(struct worker *w);

/* All parts of the worker are ready. */
void worker_life_up(struct worker *w);

/* Starts to take orders of the master. 0, or -errno. */
int worker_life_open(struct worker *w);
void worker_life_close(struct worker *w);

/* A connection has ended, or all expected ones were taken: stops the loop after the last. */
void worker_life_look(struct worker *w);

/* worker_conns: the worker's connections on the scoreboard, for GET /status/connections. */

/* Writes the worker's table (board/board.h), for the master's CTL_SHOW. */
void worker_conns_show(struct worker *w);

/* Does so for an admin page of this worker, and requests the same from the other workers. */
void worker_conns_ask(struct worker *w);
