/*
 * explain: answers one request by a configuration, without a server, and prints which of its lines
 * decided what. The request core and the file replies do it as in a worker; only the stream that
 * takes the reply is explain's own. Main calls it for `h2d --explain`. It binds nothing, forks
 * nothing and starts no handler that could write.
 */
#ifndef H2D_CLI_EXPLAIN_H
#define H2D_CLI_EXPLAIN_H

#include <stdio.h>

#include "base/arena.h"
#include "base/slice.h"
#include "cli/options.h"
#include "conf/conf.h"
#include "master/gen_resources.h"
#include "request/req.h"

/* 0, or -1 after a message on stderr: what was asked for cannot be. */
int explain(const struct conf *conf, const struct resources *resources, const struct options *ask,
	const char *url, FILE *out);

/* --- a URL as somebody types it (explain_url.c) ---------------------------------------------- */

struct explain_url {
	bool has_scheme;        /* false: a path alone was given */
	bool tls;               /* "https" */
	struct slice authority; /* as it goes into :authority; n 0 without a scheme */
	struct slice host;      /* of authority, without its port and brackets */
	uint16_t port;          /* 0: that of the scheme */
	struct slice user;      /* "user:password", percent-decoded; p NULL: there is none */
	struct slice target;    /* begins with "/", without a fragment */
};

/* "http://USER:PASSWORD@HOST:PORT/PATH?QUERY", or "/PATH". What it needs of memory is a's. NULL, or
 * what is wrong, a const string. */
const char *explain_url_parse(struct explain_url *url, const char *text, struct arena *a);

/* --- what is printed of a request (explain_report.c) ----------------------------------------- */

/* One line: what, its text, and where the configuration says so (NULL or file NULL: nowhere). */
void explain_line(FILE *out, const char *what, const struct conf_pos *at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The trace of req and its answer; refused: the handler that was not started, whose keys are told,
 * or NULL. */
void explain_report(FILE *out, const struct conf *conf, const struct h2d_req *req,
	const struct h2d_handler *refused);

#endif
