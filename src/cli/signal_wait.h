/*
 * signal_wait: the running master, which the command finds by its pid file, and the wait for the
 * outcome of a signal. Called by signal_cmd.
 */
#ifndef H2D_CLI_SIGNAL_WAIT_H
#define H2D_CLI_SIGNAL_WAIT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "master/master_signal.h"

/*
 * The master that holds the pid file of a configuration. Its process is held by a pidfd from before
 * the lock is looked at, so it is the master and not a later user of its number.
 */
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

static inline bool signal_is_drain(int signo)
{
	return signo == MASTER_SIGNAL_DRAIN || signo == MASTER_SIGNAL_UNDRAIN;
}

/* A wait ends with an exit status, or with this: the signal is to be sent once more, for an upgrade
 * has put another master in place, or has hidden what came of it. */
enum { SIGNAL_MOVED = -1 };

struct signal_wait {
	struct running_master *master;
	int signo;
	bool drains;        /* to wait for the generation that a reload replaces to be gone */
	pid_t asked;        /* the process that got the signal; the master may be its heir by now */
	struct stat status; /* of the status file, before its master was looked for; zeros: there
			       was none */
	struct stat named;  /* of the pid file, when the master was found */
	uint32_t known;     /* the newest request before ours, as the status file had it */
	uint32_t before;    /* the newest request that is not ours: known, or a later one */
	uint32_t hidden;    /* see is_hidden(); 0: it was not so at the look before */
	bool fresh;         /* the status file was written since the signal */
};

/* Before the master is looked for. master and signo are used as long as w is. */
void signal_wait_init(struct signal_wait *w, struct running_master *master, int signo, bool drains);

/* Before the signal is sent. False: the status file cannot be read, and standard error says why. */
bool signal_wait_begin(struct signal_wait *w);

/* Waits, and tells. An exit status, or SIGNAL_MOVED. */
int signal_wait_outcome(struct signal_wait *w);

#endif
