/*
 * logs: the log files of one generation, which the master alone opens and every child of that
 * generation inherits. Reopening keeps the master's descriptor numbers.
 */
#ifndef H2D_MASTER_LOGS_H
#define H2D_MASTER_LOGS_H

#include <stddef.h>

#include "conf/conf.h"

struct logs {
	int error;     /* -1: syslog */
	int access;    /* -1: off */
	const char *error_path, *access_path; /* NULL: not a file; borrowed from the conf */
};

#define LOGS_NONE ((struct logs){ .error = -1, .access = -1 })

/* 0, or -1 with a message in err; then nothing is open. */
int logs_open(struct logs *l, const struct conf *conf, char *err, size_t errsize);

/* Opens the files anew, by name. One that cannot be opened stays as it is: -1, with a message. */
int logs_reopen(struct logs *l, char *err, size_t errsize);

void logs_close(struct logs *l);

#endif
