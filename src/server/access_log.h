/*
 * access_log: one line per request, combined or JSON, gathered in a buffer and written in whole
 * lines: when the buffer is nearly full, once a second, and at the end. The worker owns the
 * buffer, the master the descriptor. It never waits for a reader of the log: what cannot be
 * written is tried again, and what does not fit into the buffer is lost and counted.
 */
#ifndef H2D_SERVER_ACCESS_LOG_H
#define H2D_SERVER_ACCESS_LOG_H

#include "base/log_out.h"
#include "event/loop.h"
#include "request/req.h"

enum access_format { ACCESS_COMBINED, ACCESS_JSON };

struct access_log {
	int fd; /* -1: off */
	enum access_format format;
	struct loop *loop;
	struct timer timer; /* armed while lines wait */
	struct log_out out;
	bool full;     /* until the timer, no more is tried */
	unsigned lost; /* lines that had no room, not yet said */
	size_t len;
	time_t stamp_for; /* the second that stamp says */
	char stamp[40];
	char *buf;
};

/* fd -1: off. 0, or -1 when memory is out. */
int access_log_init(struct access_log *log, struct loop *loop, int fd, enum access_format format);

void access_log_write(struct access_log *log, const struct h2d_req *req);

/* Writes what waits. */
void access_log_flush(struct access_log *log);

void access_log_fini(struct access_log *log);

#endif
