/*
 * access_log: the lines of one access log, gathered in a buffer and written in whole lines: when
 * the buffer is nearly full, once a second, at once to a terminal, and at the end. Owned by
 * access_logs; the descriptor is the master's. It never waits for a reader of the log: what cannot
 * be written is tried again, and what does not fit into the buffer is lost and counted.
 */
#ifndef H2D_SERVER_ACCESS_LOG_H
#define H2D_SERVER_ACCESS_LOG_H

#include "base/log_out.h"
#include "event/loop.h"
#include "server/access_line.h"

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

#endif
