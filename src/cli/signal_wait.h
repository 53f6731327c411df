/*
 * signal_wait: the running master, found by its pid file, and the wait for the outcome of a signal.
 * Called by signal_cmd.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "master/master_signal.h"

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

/* Takes pid file and times from the configuration. False: it has no pid file, reported on standard
 * error. */
bool running_master_init(struct running_master *m, const struct conf_override *ov);

/* Holds the process until running_master_let_go(); not one that is replaced meanwhile. False: no
 * process has the pid file, reported on standard error. */
bool running_master_find(struct running_master *m);

void running_master_let_go(struct running_master *m);

/* Waits at most ms for its end. */
bool running_master_is_gone(const struct running_master *m, int ms);

/* True if another process has the pid file by now. */
bool running_master_has_moved(const struct running_master *m);

static inline bool signal_is_drain(int signo)
{
	return signo == MASTER_SIGNAL_DRAIN || signo == MASTER_SIGNAL_UNDRAIN;
}

/* The result of a wait is an exit status, or this: send the signal again, because an upgrade has
 * replaced the master, or has hidden the outcome. */
enum { SIGNAL_MOVED = -1 };

struct signal_wait {
	struct running_master *master;
	int signo;
	bool drains;        /* to wait for the end of the generation that a reload replaces */
	pid_t asked;        /* the process that got the signal; another one may be the master by
			     * now */
	struct stat status; /* of the status file, before the search for its master; zeros: none */
	struct stat named;  /* of the pid file, when the master was found */
	uint32_t known;     /* the newest request before ours, in the status file */
	uint32_t before;    /* the newest request that is not ours: known, or a later one */
	uint32_t hidden;    /* see is_hidden(); 0: not so at the look before */
	bool fresh;         /* the status file was written since the signal */
};

/* Called before the master is searched for. master and signo are used as long as w is. */
void signal_wait_init(struct signal_wait *w, struct running_master *master, int signo, bool drains);

/* Called before the signal is sent. False: the status file cannot be read, reported on standard
 * error. */
bool signal_wait_begin(struct signal_wait *w);

/* Waits, and prints. An exit status, or SIGNAL_MOVED. */
int signal_wait_outcome(struct signal_wait *w);
