/*
 * running_master: the master that holds the pid file of a configuration, for signal_cmd. Its
 * process is held by a pidfd from before the lock is looked at, so it is the master and not a later
 * user of its number.
 */
#ifndef H2D_CLI_RUNNING_MASTER_H
#define H2D_CLI_RUNNING_MASTER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf/conf.h"

struct running_master {
	char pid_file[PATH_MAX];
	pid_t pid;
	int pidfd;        /* -1: none is held */
	uint64_t quit_ms; /* how long a graceful stop may take */
};

/* Takes pid file and times from the configuration. False: it names no pid file, and standard error
 * says so. */
bool running_master_init(struct running_master *m, const struct conf_override *ov);

/* Holds the process until running_master_let_go(); one that passes its place on meanwhile is not
 * it. False: none has the pid file, and standard error says so. */
bool running_master_find(struct running_master *m);

void running_master_let_go(struct running_master *m);

/* Waits at most ms for its end. */
bool running_master_is_gone(const struct running_master *m, int ms);

/* Whether another process has the pid file by now. */
bool running_master_has_moved(const struct running_master *m);

#endif
