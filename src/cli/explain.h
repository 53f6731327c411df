/*
 * explain: answers one request by a configuration, without a server, and prints which of its lines
 * decided what. The request core and the file replies do it as in a worker; only the stream that
 * takes the reply is explain's own. Main calls it for `h2d --explain`. It binds nothing, forks
 * nothing and starts no handler that could write.
 */
#ifndef H2D_CLI_EXPLAIN_H
#define H2D_CLI_EXPLAIN_H

#include <stdio.h>

#include "conf/conf.h"
#include "sites/certs.h"
#include "sites/trees.h"

/* The server that answers, as its parts; all of them outlive the call. */
struct explain_by {
	const struct conf *conf;
	const struct trees *trees;
	const struct sites *sites;
	const struct certs *certs;
};

/* The request, as the command line has it. */
struct explain_ask {
	const char *url;           /* with its scheme, or a path alone */
	const char *method;        /* NULL: GET */
	const char *address;       /* of the client; NULL: 127.0.0.1 */
	const char *const *fields; /* "name: value" */
	unsigned nfields;
};

/* 0, or -1 after a message on stderr: what was asked for cannot be. */
int explain(const struct explain_by *by, const struct explain_ask *ask, FILE *out);

#endif
