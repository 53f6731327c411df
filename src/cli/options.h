/*
 * options: the command line. One table of options makes the parser and the text of -h. Options
 * opens no file: its result is a struct conf_override, which conf applies to the configuration.
 */
#pragma once

#include <stdio.h>

#include "conf/conf.h"

#define OPTIONS_FILE SYSCONFDIR "/h2d/h2d.conf" /* the default configuration file */

enum options_code {
	OPT_LONG = 256,
	OPT_ACCESS_LOG = OPT_LONG,
	OPT_ADDRESS,
	OPT_EXPLAIN,
	OPT_H2C,
	OPT_METHOD,
	OPT_ALL,
	OPT_ONCE,
	OPT_PID_FILE,
	OPT_ROUTES,
	OPT_WAIT
};

enum options_action {
	OPTIONS_RUN,
	OPTIONS_TEST,
	OPTIONS_DUMP,
	OPTIONS_ROUTES,
	OPTIONS_EXPLAIN,
	OPTIONS_SIGNAL,
	OPTIONS_TOP,
	OPTIONS_VERSION,
	OPTIONS_HELP,
};

enum { OPTIONS_URLS = 1000, OPTIONS_FIELDS = 100 };

struct options {
	enum options_action action;
	const char *signal; /* OPTIONS_SIGNAL */
	char *const *top;   /* OPTIONS_TOP: the servers' addresses, NULL after the last */
	bool once;          /* OPTIONS_TOP: one look */
	bool all;           /* OPTIONS_DUMP: defaults, too */
	bool wait;          /* also for the end of the generation before */
	/* OPTIONS_EXPLAIN */
	const char *urls[OPTIONS_URLS], *fields[OPTIONS_FIELDS];
	unsigned nurls, nfields;
	const char *method, *address; /* NULL: not given */
	struct conf_override conf;    /* the strings are argv's */
};

/* 0, or -1 after a message on stderr: a usage error. */
int options_parse(struct options *o, int argc, char **argv);

void options_help(FILE *out);
