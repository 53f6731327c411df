/*
 * signal_cmd: the client side of pid file and status file; main calls it for -s. It makes no change
 * itself.
 */
#include "cli/signal_cmd.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#include "cli/signal_wait.h"

enum { STOP_MS = 10000 };

static int signal_of(const char *name)
{
	const struct {
		const char *name;
		int signo;
	} signals[] = {
		{ "reload", SIGHUP },
		{ "upgrade", SIGUSR2 },
		{ "stop", SIGTERM },
		{ "quit", SIGQUIT },
		{ "yield", SIGPWR },
		{ "reopen", SIGUSR1 },
		{ "drain", MASTER_SIGNAL_DRAIN },
		{ "undrain", MASTER_SIGNAL_UNDRAIN },
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(name, signals[i].name) == 0)
			return signals[i].signo;
	}
	return 0;
}

/* True if the master reports an outcome. */
static bool has_outcome(int signo)
{
	return signo == SIGHUP || signo == SIGUSR2 || signal_is_drain(signo);
}

bool signal_cmd_known(const char *name)
{
	return signal_of(name) != 0;
}

static int wait_gone(const struct running_master *m, uint64_t ms)
{
	if (running_master_is_gone(m, ms > INT_MAX ? INT_MAX : (int)ms))
		return 0;
	fprintf(stderr, "h2d: process %d is still running\n", (int)m->pid);
	return 1;
}

static int moved_or(const struct running_master *m, int rc)
{
	return running_master_has_moved(m) ? SIGNAL_MOVED : rc;
}

static int send_signal(const struct running_master *m, int signo)
{
	if (pidfd_send_signal(m->pidfd, signo, NULL, 0) == 0)
		return 0;
	if (errno == ESRCH && running_master_has_moved(m))
		return SIGNAL_MOVED;
	fprintf(stderr, "h2d: cannot signal process %d: %s\n", (int)m->pid, strerror(errno));
	return 1;
}

static int request(struct running_master *m, struct signal_wait *w)
{
	int rc = signal_wait_begin(w) ? send_signal(m, w->signo) : 1;

	return rc != 0 ? rc : signal_wait_outcome(w);
}

static int signal_cmd_stop(const struct running_master *m, int signo)
{
	/* The first process of a container takes one TERM for QUIT; see master_signal.c. */
	int rc = send_signal(m, signo == SIGTERM && m->pid == 1 ? SIGINT : signo);

	if (rc == 0)
		rc = wait_gone(m, signo == SIGTERM ? STOP_MS : m->quit_ms);
	return rc == 0 ? moved_or(m, 0) : rc;
}

static int signal_cmd_ask(struct running_master *m, int signo, bool wait)
{
	struct signal_wait w;
	int rc = 1;

	signal_wait_init(&w, m, signo, wait);
	if (running_master_find(m)) {
		if (has_outcome(signo))
			rc = request(m, &w);
		else if (signo != SIGUSR1)
			rc = signal_cmd_stop(m, signo);
		else
			rc = send_signal(m, signo);
	}
	running_master_let_go(m);
	return rc;
}

int signal_cmd(const char *name, bool wait, const struct conf_override *ov)
{
	struct running_master m;
	int rc = SIGNAL_MOVED;

	if (!running_master_init(&m, ov))
		return 1;
	while (rc == SIGNAL_MOVED)
		rc = signal_cmd_ask(&m, signal_of(name), wait);
	return rc;
}
