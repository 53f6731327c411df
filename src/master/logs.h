/*
 * logs: the log files of one generation. The master alone opens them, and every process of that
 * generation inherits them. Reopening keeps the master's descriptor numbers.
 */
#ifndef H2D_MASTER_LOGS_H
#define H2D_MASTER_LOGS_H

#include <stddef.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "master/privs.h"

struct logs {
	int error;                            /* -1: syslog */
	int access;                           /* -1: off */
	const char *error_path, *access_path; /* NULL: not a file; borrowed from the conf */
	uid_t user;                           /* of the workers; 0: the master's own */
};

#define LOGS_NONE ((struct logs){ .error = -1, .access = -1 })

/*
 * 0, or -1 with a message in err; then nothing is open. A file that the master may not open is
 * tried as the user of privs: a root without CAP_DAC_OVERRIDE needs that for a log that belongs to
 * the user.
 */
int logs_open(struct logs *l, const struct conf *conf, const struct privs *privs, char *err,
	size_t errsize);

/* Opens the files anew, by name. One that cannot be opened stays as it is: -1, with a message. */
int logs_reopen(struct logs *l, char *err, size_t errsize);

void logs_close(struct logs *l);

#endif
