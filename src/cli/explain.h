/*
 * explain: answers one request by a configuration, without a server, and prints the lines that
 * decided. Only the stream that takes the reply is explain's own. It never binds or forks, and
 * starts no handler that could write.
 */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "base/slice.h"
#include "cli/options.h"
#include "conf/conf.h"
#include "master/gen_resources.h"
#include "request/req.h"

/* 0, or -1 after a message on stderr: the request is impossible. */
int explain(const struct conf *conf, const struct resources *resources, const struct options *ask,
	const char *url, FILE *out);

/* --- a URL of the command line (explain_url.c) ----------------------------------------------- */

struct explain_url {
	bool has_scheme;        /* false: only a path was given */
	bool tls;               /* "https" */
	struct slice authority; /* for :authority; n 0 without a scheme */
	struct slice host;      /* of authority, without its port and brackets */
	uint16_t port;          /* 0: that of the scheme */
	struct slice user;      /* "user:password", percent-decoded; p NULL: none */
	struct slice target;    /* begins with "/", without a fragment */
};

/* "http://USER:PASSWORD@HOST:PORT/PATH?QUERY", or "/PATH". Its memory is in a. NULL, or the fault,
 * a const string. */
const char *explain_url_parse(struct explain_url *url, const char *text, struct arena *a);

/* --- the report of a request (explain_report.c) ---------------------------------------------- */

/* One line: what, its text, and its place in the configuration (NULL or file NULL: none). */
void explain_line(FILE *out, const char *what, const struct conf_pos *at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The trace of req and its answer; refused: the handler that was not started, with its keys, or
 * NULL. */
void explain_report(FILE *out, const struct conf *conf, const struct h2d_req *req,
	const struct h2d_handler *refused);
