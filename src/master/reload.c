/*
 * reload: builds a generation beside the one that serves, and either puts it in its place or throws
 * it away. Every request to reload ends in exactly one of commit() and finish(false), which is what
 * the status file says.
 */
#include "master/reload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "master/child.h"
#include "master/drain.h"
#include "master/fault.h"
#include "master/master.h"
#include "master/notify.h"

enum { LIMIT_MS = 30000 };

static void write_status(const struct master *m)
{
	int rc;

	if (m->pidfile.path == NULL)
		return;
	rc = status_write(&m->status, m->pidfile.path);
	if (rc < 0)
		log_warn("%s.status: %s", m->pidfile.path, strerror(-rc));
}

/* At the first start nobody may be reading a log yet: the terminal is told too. */
static void complain(struct master *m, const char *prefix, const char *text)
{
	status_add(&m->next, text);
	if (m->phase == MASTER_START)
		fprintf(stderr, "%s%s\n", prefix, text);
	if (m->phase != MASTER_START || (m->starting != NULL && m->starting->logs.error != STDERR_FILENO))
		log_error("%s", text);
}

static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	char text[FAULT_TEXT];

	fault_format(pos, message, text, sizeof(text));
	complain(ctx, fault_prefix(pos), text);
}

static void describe(const struct master *m, char *buf, size_t size)
{
	if (m->current != NULL)
		snprintf(buf, size, "serving: generation %u, %u worker%s", m->current->number,
			m->current->nworkers, m->current->nworkers == 1 ? "" : "s");
	else
		snprintf(buf, size, "not started");
}

/* The request is over. The service manager hears of it before `h2d -s reload` can. */
static void finish(struct master *m, bool ok)
{
	char text[128];

	timer_disarm(&m->loop.wheel, &m->limit);
	m->starting = NULL;
	describe(m, text, sizeof(text));
	if (ok)
		status_add(&m->next, text);
	if (m->phase == MASTER_SERVE)
		notify_ready(text);
	m->next.request = m->status.running;
	m->next.ok = ok;
	m->next.generation = m->current != NULL ? m->current->number : 0;
	m->status = m->next;
	write_status(m);
	if (m->again && m->phase == MASTER_SERVE) {
		m->again = false;
		reload_begin(m);
	}
}

void reload_fail(struct gen *g, const char *why)
{
	struct master *m = g->master;

	H2D_ASSERT(g->state == GEN_START && m->starting == g);
	if (why != NULL)
		complain(m, "h2d: ", why);
	if (m->phase == MASTER_START) {
		m->exit_status = 1;
		master_leave(m, false);
		return;
	}
	log_error("reload failed: generation %u goes on", m->current->number);
	sockets_undo(&m->sockets);
	drain_begin(g);
	finish(m, false);
}

static void commit(struct gen *g)
{
	struct master *m = g->master;
	struct gen *old = m->current;

	m->current = g;
	m->phase = MASTER_SERVE;
	g->state = GEN_SERVE;
	log_to(g->logs.error);
	log_max = (enum log_level)g->conf->log_level;
	log_notice("serving: generation %u, %u worker%s", g->number, g->nworkers,
		g->nworkers == 1 ? "" : "s");
	if (geteuid() == 0 && !g->basis.privs.drop && old == NULL)
		log_warn("no user is configured: the workers run as root");
	master_show(m);
	/*
	 * Ours are closed before the old workers close theirs: they accept what is queued first, and
	 * with nobody else holding the socket nothing more can be queued behind them.
	 */
	sockets_keep(&m->sockets);
	if (old != NULL)
		drain_begin(old);
	drain_limit(m);
	finish(m, true);
}

void reload_child_up(struct child *c)
{
	struct gen *g = c->gen;

	if (g->state != GEN_START || c->kind != CHILD_WORKER)
		return;
	for (unsigned i = 0; i < g->nworkers; i++) {
		if (!g->workers[i].up)
			return;
	}
	commit(g);
}

static void on_limit(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, limit);

	reload_fail(m->starting, "the workers did not come up in time");
}

static int take_pid_file(struct master *m, const struct conf *conf)
{
	char err[512];

	if (m->current == NULL) {
		if (conf->pid_file[0] == '\0')
			return 0;
		if (pidfile_open(&m->pidfile, conf->pid_file, err, sizeof(err)) < 0) {
			on_fault(m, &conf->pid_file_at, err);
			return -1;
		}
		status_remove(conf->pid_file); /* of a predecessor that was killed */
		return 0;
	}
	if (strcmp(conf->pid_file, m->pidfile.path != NULL ? m->pidfile.path : "") != 0)
		log_warn("a change of pid-file takes a restart");
	return 0;
}

/* Its keeper first: the sooner it reads, the sooner an image is there. */
static int start_processes(struct gen *g)
{
	struct master *m = g->master;

	m->last_number = g->number;
	if (g->conf->cache.max_size > 0 && child_start(&g->keeper) < 0)
		return -1;
	for (unsigned i = 0; i < g->nworkers; i++) {
		if (child_start(&g->workers[i]) < 0)
			return -1;
	}
	return 0;
}

static void adopt(struct master *m, struct gen *g)
{
	g->master = m;
	child_init(&g->keeper);
	for (unsigned i = 0; i < g->nworkers; i++)
		child_init(&g->workers[i]);
	list_append(&m->gens, &g->node);
	m->ngens++;
	m->starting = g;
}

void reload_init(struct master *m)
{
	timer_init(&m->limit, on_limit);
}

void reload_begin(struct master *m)
{
	struct gen *g;

	H2D_ASSERT(m->starting == NULL);
	m->next = (struct status){ 0 };
	if (m->phase == MASTER_SERVE) {
		/* Before the configuration is read: `h2d -s reload` relies on it. */
		m->status.running = m->status.request + 1;
		write_status(m);
		notify_reloading("reloading");
		log_notice("reloading");
	}
	g = gen_new(m->ov, m->last_number + 1, on_fault, m);
	if (g == NULL) {
		if (m->phase == MASTER_START) {
			m->exit_status = 1;
			master_leave(m, false);
			return;
		}
		log_error("reload failed: generation %u goes on", m->current->number);
		finish(m, false);
		return;
	}
	adopt(m, g);
	if (m->phase == MASTER_START) {
		log_to(g->logs.error);
		log_max = (enum log_level)g->conf->log_level;
	}
	if (take_pid_file(m, g->conf) < 0 || gen_listen(g, &m->sockets, on_fault, m) < 0)
		reload_fail(g, NULL);
	else if (board_room(m->board) < g->nworkers)
		reload_fail(g, "too many workers are still draining: no room for new ones");
	else if (start_processes(g) < 0)
		reload_fail(g, "the workers cannot be started");
	else
		timer_arm(&m->loop.wheel, &m->limit, clock_ms() + LIMIT_MS);
}
