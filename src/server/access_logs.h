/*
 * access_logs: all access logs of a worker, and which of them a request belongs to. Several servers
 * may have the same file, with a format each; the descriptors are in the order of
 * conf_access_logs(). The worker owns it.
 */
#ifndef H2D_SERVER_ACCESS_LOGS_H
#define H2D_SERVER_ACCESS_LOGS_H

#include "base/log.h"
#include "conf/conf.h"
#include "event/loop.h"
#include "server/access_line.h"

/*
 * access_log: the lines of one access log, gathered in a buffer and written in whole lines: when
 * the buffer is nearly full, once a second, at once to a terminal, and at the end. Owned by
 * access_logs; the descriptor is the master's. It never waits for a reader of the log: what cannot
 * be written is tried again, and what does not fit into the buffer is lost and counted.
 */

struct access_log {
	int fd;
	struct loop *loop;
	struct timer timer; /* armed while lines wait */
	struct log_out out;
	bool terminal; /* a person may look at it, at once */
	bool full;     /* until the timer, no more is tried */
	unsigned lost; /* lines that had no room, not yet said */
	size_t len;
	char *buf;
};

/* 0, or -1 when memory is out. */
int access_log_init(struct access_log *log, struct loop *loop, int fd);

/* line is where its text is made. */
void access_log_write(struct access_log *log, struct access_line *line, enum access_format format,
	const struct h2d_req *req);

/* Writes what waits. */
void access_log_flush(struct access_log *log);

void access_log_fini(struct access_log *log);

/* Where the requests of one server go. */
struct access_logs_way {
	struct access_log *log; /* NULL: nowhere */
	enum access_format format;
	bool anonymous;
	struct slice *skip; /* prefixes of paths, as those of locations */
	unsigned nskip;
};

struct access_logs {
	const struct sites *sites;
	struct access_log *v;
	unsigned n;
	struct access_logs_way *ways; /* of each server; behind them, of admin listeners */
	struct access_line line;
	bool timed;   /* a format tells how long requests take */
	bool colours; /* a terminal may be shown some */
};

/* fds[0..n): of each log of conf. 0, or -1 when memory is out. */
int access_logs_init(struct access_logs *l, struct loop *loop, const struct conf *conf,
	const struct sites *sites, const int *fds, unsigned n);

/* Called once per request, at its end. */
void access_logs_write(struct access_logs *l, const struct h2d_req *req);

/* Reopened descriptors take the numbers of the old ones; fds stay the caller's. */
void access_logs_reopened(struct access_logs *l, const int *fds, unsigned n);

/* Writes what waits. */
void access_logs_fini(struct access_logs *l);

#endif
