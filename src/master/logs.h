/*
 * logs: the log files of one generation. The master alone opens them, and every process of that
 * generation inherits them. Reopening keeps the master's descriptor numbers.
 */
#ifndef H2D_MASTER_LOGS_H
#define H2D_MASTER_LOGS_H

#include <stddef.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "sandbox/privs.h"

struct logs {
	int error;                        /* -1: syslog */
	const char *error_path;           /* NULL: not a file; borrowed from the conf */
	int access[CONF_ACCESS_LOGS_MAX]; /* in the order of conf_access_logs() */
	const char *access_paths[CONF_ACCESS_LOGS_MAX]; /* as error_path */
	unsigned naccess;
	uid_t user; /* of the workers; 0: the master's own */
};

#define LOGS_NONE ((struct logs){ .error = -1 })

/*
 * 0, or -1 after a fault where the log is configured; then nothing is open. A file that the master
 * may not open is tried as the user of privs: a root without CAP_DAC_OVERRIDE needs that for a log
 * that belongs to the user.
 */
int logs_open(struct logs *l, const struct conf *conf, const struct privs *privs,
	conf_fault_fn *fault, void *ctx);

/* Opens the files anew, by name. One that cannot be opened stays as it is, which is logged. */
void logs_reopen(const struct logs *l);

void logs_close(struct logs *l);

#endif
