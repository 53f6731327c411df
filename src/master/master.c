/*
 * master: the loop of the main process: signals in, generations out. It decides what a signal means in
 * which phase; how a generation comes and goes is told in reload and drain.
 */
#include "master/master.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/child.h"
#include "master/drain.h"
#include "master/notify.h"
#include "master/reload.h"

enum { RESEND_MS = 20 };

void master_show(struct master *m)
{
	struct board_head *h = &m->board->head;
	const struct gen *g = m->current;

	if (g == NULL)
		return;
	h->generation = g->number;
	h->keeper_pid = (uint32_t)g->keeper.pid;
	h->building = gen_is_building(g);
	h->cache = g->facts;
	/* Until a new generation has one of its own, the newest is its predecessor's. */
	if (g->image.arg != 0 || !h->building) {
		h->image = g->image.arg;
		h->image_size = g->image.size;
	}
}

/* --- the children --------------------------------------------------------------------------------- */

static struct child *find_child(struct master *m, pid_t pid)
{
	LIST_FOREACH(node, &m->gens) {
		struct gen *g = LIST_ENTRY(node, struct gen, node);

		if (g->keeper.pid == pid)
			return &g->keeper;
		for (unsigned i = 0; i < g->nworkers; i++) {
			if (g->workers[i].pid == pid)
				return &g->workers[i];
		}
	}
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

/* fn for every process; true if any answered true. */
static bool each_child(struct master *m, bool (*fn)(struct child *c))
{
	bool any = false;

	LIST_FOREACH(node, &m->gens) {
		struct gen *g = LIST_ENTRY(node, struct gen, node);

		any |= g->keeper.pid != 0 && fn(&g->keeper);
		for (unsigned i = 0; i < g->nworkers; i++)
			any |= g->workers[i].pid != 0 && fn(&g->workers[i]);
	}
	return any;
}

static void on_resend(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, resend);

	if (each_child(m, child_flush))
		timer_arm(&m->loop.wheel, &m->resend, clock_ms() + RESEND_MS);
}

/* --- signals ---------------------------------------------------------------------------------------- */

static bool send_logs(struct child *c)
{
	child_send(c, DUE_LOGS);
	return false;
}

static void reopen_logs(struct master *m)
{
	char err[512];

	LIST_FOREACH(node, &m->gens) {
		if (logs_reopen(&LIST_ENTRY(node, struct gen, node)->logs, err, sizeof(err)) < 0)
			log_error("%s", err);
	}
	each_child(m, send_logs);
	log_notice("logs reopened");
}

static void reload_or_later(struct master *m)
{
	if (m->phase == MASTER_START || m->starting != NULL)
		m->again = true;
	else if (m->phase == MASTER_SERVE)
		reload_begin(m);
}

void master_leave(struct master *m, bool gracefully)
{
	if (m->phase != MASTER_LEAVE)
		notify_stopping(gracefully ? "draining" : "stopping");
	m->phase = MASTER_LEAVE;
	m->starting = NULL;
	timer_disarm(&m->loop.wheel, &m->limit);
	/* Before the workers close theirs: they accept what is queued, and nothing may queue behind it. */
	sockets_close(&m->sockets);
	LIST_FOREACH(node, &m->gens) {
		struct gen *g = LIST_ENTRY(node, struct gen, node);

		if (!gracefully)
			drain_cut(g);
		else if (g->state != GEN_DRAIN)
			drain_begin(g);
	}
	if (m->ngens == 0)
		loop_stop(&m->loop);
}

void master_gen_gone(struct master *m)
{
	m->ngens--;
	if (m->phase == MASTER_LEAVE && m->ngens == 0)
		loop_stop(&m->loop);
}

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	struct master *m = LIST_ENTRY(s, struct master, sig);

	if (info->ssi_signo != SIGCHLD)
		log_notice("signal %s from process %u", sigabbrev_np((int)info->ssi_signo), info->ssi_pid);
	switch (info->ssi_signo) {
	case SIGCHLD:
		reap_all(m);
		break;
	case SIGHUP:
		reload_or_later(m);
		break;
	case SIGQUIT:
		if (m->phase != MASTER_LEAVE)
			master_leave(m, true);
		break;
	case SIGTERM:
	case SIGINT:
		master_leave(m, false);
		break;
	case SIGUSR1:
		reopen_logs(m);
		break;
	default:
		log_warn("upgrading the program in place is not built");
		break;
	}
}

/* --- the process ------------------------------------------------------------------------------------- */

static int watch_signals(struct master *m)
{
	static const int wanted[] = { SIGCHLD, SIGHUP, SIGQUIT, SIGTERM, SIGINT, SIGUSR1, SIGUSR2 };
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(&set, wanted[i]);
	return sig_init(&m->sig, &m->loop, &set, on_signal);
}

/* Connections are descriptors, and the usual soft limit is far below worker-connections. */
static void raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int master_run(const struct conf_override *ov)
{
	struct master m = { .ov = ov, .pidfile = PIDFILE_NONE, .next_image = 1 };
	int rc;

	log_who("master");
	raise_limit();
	list_init(&m.gens);
	sockets_init(&m.sockets);
	timer_init(&m.resend, on_resend);
	reload_init(&m);
	m.board = board_new();
	rc = m.board != NULL ? loop_init(&m.loop) : -errno;
	if (rc < 0) {
		fprintf(stderr, "h2d: cannot start: %s\n", strerror(-rc));
		board_free(&m.board);
		return 1;
	}
	m.board->head.started = (uint64_t)clock_wall().tv_sec;
	rc = watch_signals(&m);
	if (rc == 0) {
		reload_begin(&m);
		rc = loop_run(&m.loop);
	}
	if (rc < 0) {
		log_error("loop: %s", strerror(-rc));
		m.exit_status = 1;
	}
	if (m.pidfile.path != NULL)
		status_remove(m.pidfile.path);
	pidfile_close(&m.pidfile);
	sig_fini(&m.sig, &m.loop);
	timer_disarm(&m.loop.wheel, &m.resend);
	loop_fini(&m.loop);
	board_free(&m.board);
	return m.exit_status;
}
