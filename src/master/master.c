/*
 * master: makes the master, passes signals on, reaps children, and calls the checks of each
 * second.
 */
#include "master/master.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process_use.h"
#include "event/bus.h"
#include "machine/kernel_check.h"
#include "master/changes.h"
#include "master/master_signal.h"
#include "master/master_state.h"
#include "master/reload.h"
#include "master/spawn.h"
#include "master/succession.h"
#include "master/supervise.h"
#include "master/watchdog.h"
#include "share/tally.h"

enum { SECOND_MS = 1000 };

static struct child *find_child(struct master *m, pid_t pid)
{
	LIST_EACH(struct gen, g, node, &m->gens.all)
		GEN_FOREACH(c, g)
			if (c->pid == pid)
				return c;
	return NULL;
}

static void reap_all(struct master *m)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct child *c = find_child(m, pid);

		if (c != NULL)
			child_reaped(c, status);
	}
}

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	struct master *m = LIST_ENTRY(s, struct master, sig);

	if (info->ssi_signo == SIGCHLD) {
		reap_all(m);
		return;
	}
	log_notice("signal %s from process %u", master_signal_name((int)info->ssi_signo),
		info->ssi_pid);
	master_signal(m, (int)info->ssi_signo);
}

/* --- every second ----------------------------------------------------------------------------- */

/* Adds up the workers' last seconds. A corrupt one can spoil only the sum. */
static void show_requests(struct board *board)
{
	struct board_head *h = &board->head;
	const struct board_slot *s;
	uint32_t sum = 0;

	for (unsigned i = 0; (s = board_next(board, &i)) != NULL;)
		sum += BOARD_LOAD(s->recent.requests);
	__atomic_store_n(&h->history[h->seconds % BOARD_HISTORY], sum, __ATOMIC_RELAXED);
	__atomic_store_n(&h->seconds, h->seconds + 1, __ATOMIC_RELEASE);
}

static void on_second(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, second);

	timer_arm(&m->loop.wheel, t, clock_ms() + SECOND_MS);
	log_tick(false);
	reap_all(m); /* a missed SIGCHLD would leave its generation waiting for ever */
	watchdog_second(m);
	pidfile_retry(&m->pidfile);
	show_requests(m->shared.board);
	process_use_read(&m->shared.board->head.use);
	health_look(m);
	mend_second(m);
	changes_second(m);
	if (m->current != NULL && m->current->state == GEN_SERVE)
		gen_resources_expire(&m->current->resources, conf_fault_log);
}

/* --- the process ------------------------------------------------------------------------------ */

/* Connections are descriptors, and the usual soft limit is far below worker-connections. */
static void raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static int master_begin(struct master *m)
{
	struct passed p;
	int rc;

	passed_read(&p);
	rc = succession_take(m, &p);
	passed_free(&p);
	if (rc < 0) {
		m->exit_status = 1;
		return 0;
	}
	reload_begin(m);
	return loop_run(&m->loop);
}

int master_run(const struct conf_override *ov, const struct program *program)
{
	struct master m = {
		.given = { ov, program },
		.processes = { child_kinds, { &m.loop, &supervise_ops, spawn, kill } },
		.pidfile = PIDFILE_NONE,
		.next_image = 1,
	};
	sigset_t set;
	int rc;

	log_who("master");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond RLIMIT_FSIZE fails like one to a full disk */
	if (kernel_check() < 0)
		return 1;
	raise_limit();
	process_use_open();
	list_init(&m.gens.all);
	sockets_init(&m.sockets);
	master_signal_init(&m);
	reload_init(&m);
	succession_init(&m);
	m.shared.board = board_new();
	m.shared.bus = bus_new();
	m.shared.tally = tally_new();
	rc = m.shared.board != NULL && m.shared.bus != NULL && m.shared.tally != NULL
		     ? loop_init(&m.loop)
		     : -errno;
	if (rc < 0) {
		fprintf(stderr, "h2d: cannot start: %s\n", strerror(-rc));
		return 1;
	}
	supervise_lines(&m.shared.board->head.lines);
	m.shared.board->head.started = (uint64_t)clock_wall().tv_sec;
	timer_init(&m.second, on_second);
	timer_arm(&m.loop.wheel, &m.second, clock_ms() + SECOND_MS);
	master_signal_set(&set);
	rc = sig_init(&m.sig, &m.loop, &set, on_signal);
	if (rc == 0)
		rc = master_begin(&m);
	if (rc < 0) {
		log_error("cannot run: %s; exiting", strerror(-rc));
		m.exit_status = 1;
	}
	timer_disarm(&m.loop.wheel, &m.second);
	/* At the end of the channel the old master kills this one. */
	sockets_free(&m.sockets);
	upgrade_fini(&m.upgrade);
	if (m.pidfile.mine)
		status_remove(m.pidfile.path);
	pidfile_close(&m.pidfile);
	sig_fini(&m.sig, &m.loop);
	loop_fini(&m.loop);
	log_tick(true);
	supervise_lines(NULL);
	board_free(&m.shared.board);
	bus_free(&m.shared.bus);
	tally_free(&m.shared.tally);
	return m.exit_status;
}
