/*
 * signal_cmd: `h2d -s NAME`: finds the running master by its pid file, signals it, and waits for
 * the outcome. The command runs in a separate process that does not serve.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf/conf.h"

bool signal_cmd_known(const char *name);

/* The exit status of the program: 0 when the master did as asked. */
int signal_cmd(const char *name, bool wait, const struct conf_override *ov);

/*
 * The master that holds the pid file of a configuration. A pidfd, taken before the lock is checked,
 * holds its process, so it is the master and not a later user of its number.
 */
struct running_master {
	char pid_file[PATH_MAX];
	pid_t pid;
	int pidfd;        /* -1: none */
	uint64_t quit_ms; /* time limit of a graceful stop */
};

/* Holds the process until running_master_let_go(); not one that is replaced meanwhile. False: no
 * process has the pid file, reported on standard error. */
bool running_master_find(struct running_master *m);

void running_master_let_go(struct running_master *m);
bool running_master_is_gone(const struct running_master *m, int ms);

/* True if another process has the pid file by now. */
bool running_master_has_moved(const struct running_master *m);
