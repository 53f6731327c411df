/*
 * access_logs: all access logs of a worker. Several servers may have the same file, with a format
 * each; the descriptors are in the order of conf_access_logs().
 */
#pragma once

#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "conf/conf.h"
#include "event/loop.h"
#include "request/req.h"

/*
 * access_line: one request as a line, in each format that access-log-format names. The worker has
 * one, for all its access logs.
 */

enum {
	ACCESS_PIECE_MAX = 1024, /* bytes of an escaped piece; longer ones are cut */
	ACCESS_PIECES = 12,      /* of them in one line */
	ACCESS_LINE_MAX = ACCESS_PIECES * JSON_ESCAPED_MAX * ACCESS_PIECE_MAX + 2048,
};

/* A second as text, made once for all lines of that second. */
struct access_stamp {
	time_t second;
	char text[40];
};

/* Zero it to begin. */
struct access_line {
	enum access_format format; /* of the current line */
	bool colour;               /* of a short one */
	bool anonymous;            /* the line names no client: access-log-anonymize */
	char *p;
	size_t n;
	struct access_stamp local, utc;
};

/* Writes the line of req, with its newline, to p, which has room for ACCESS_LINE_MAX; returns its
 * length. */
size_t access_line(
	struct access_line *l, enum access_format format, const struct h2d_req *req, char *p);

/*
 * access_log: the lines of one access log, gathered in a buffer and written in whole lines: when
 * the buffer is nearly full, once a second, at once to a terminal, and at the end. Owned by
 * access_logs; the descriptor is the master's. It never waits for a reader of the log: unwritten
 * lines are tried again, and lines that do not fit into the buffer are lost and counted.
 */

struct access_log {
	int fd;
	struct loop *loop;
	struct timer timer; /* armed while lines wait */
	struct log_out out;
	bool terminal; /* a person may read it, at once */
	bool full;     /* no more tries until the timer */
	unsigned lost; /* lines without room, not reported yet */
	size_t len;
	char *buf;
};

/* 0, or -1 when memory is out. */
int access_log_init(struct access_log *log, struct loop *loop, int fd);

/* line has room for its text. */
void access_log_write(struct access_log *log, struct access_line *line, enum access_format format,
	const struct h2d_req *req);
void access_log_flush(struct access_log *log);

void access_log_fini(struct access_log *log);

/* The log of one server's requests. */
struct access_logs_way {
	struct access_log *log; /* NULL: none */
	enum access_format format;
	bool anonymous;
	struct slice *skip; /* prefixes of paths, like those of locations */
	unsigned nskip;
};

struct access_logs {
	const struct sites *sites;
	struct access_log *v;
	unsigned n;
	struct access_logs_way *ways; /* of each server; then of admin listeners */
	struct access_line line;
	bool timed;   /* a format has durations */
	bool colours; /* a terminal may show some */
};

/* fds[0..n): of the logs of conf. 0, or -1 when memory is out. */
int access_logs_init(struct access_logs *l, struct loop *loop, const struct conf *conf,
	const struct sites *sites, const int *fds, unsigned n);

/* Called once per request, at its end. */
void access_logs_write(struct access_logs *l, const struct h2d_req *req);

/* Gives reopened descriptors the numbers of the old ones; fds stay the caller's. */
void access_logs_reopened(struct access_logs *l, const int *fds, unsigned n);
void access_logs_fini(struct access_logs *l);
