/*
 * watchdog: counts looks, not seconds. After a stop of the whole machine, or of h2d with all its
 * processes, each process gets its time again before it counts as stuck. mend: while another master
 * has the sockets too, or a generation is being built, it waits: the processes to tell are unknown.
 */
#include "master/watchdog.h"

#include <signal.h>

#include "base/log.h"
#include "machine/notify.h"
#include "master/loan.h"
#include "master/master_state.h"
#include "master/shrink.h"
#include "upgrade/fdstore.h"

enum {
	STEER_AFTER = 2,   /* looks without a tick; one may be chance */
	KILL_AFTER = 1,    /* looks, after SIGABRT */
	BEYOND_AFTER = 30, /* looks, after SIGKILL: the process waits for a device for good */
};

enum watchdog_step watchdog_look(struct watchdog *w, uint64_t ticks, unsigned limit)
{
	/* A process that was sent SIGABRT does not come back. */
	if (limit == 0 || (ticks != w->ticks && w->silent < limit)) {
		w->ticks = ticks;
		w->silent = 0;
		return WATCHDOG_FINE;
	}
	w->silent++;
	if (w->silent < limit)
		return WATCHDOG_FINE;
	if (w->silent == limit)
		return WATCHDOG_STUCK;
	if (w->silent == limit + KILL_AFTER)
		return WATCHDOG_KILL;
	return w->silent < limit + BEYOND_AFTER ? WATCHDOG_WAIT : WATCHDOG_BEYOND;
}

static void end_stuck(struct child *c, unsigned limit)
{
	log_error("%s (process %d) hung for %u s; killing it", CHILD_NAME(c), (int)c->pid, limit);
	child_go(c, CHILD_STUCK);
	board_count(&c->gen->master->shared.board->head, BOARD_COUNT_watchdog_struck);
	loan_offer(c->gen);
	child_kill(c, SIGABRT);
}

/* A hanging process gets no connections long before it is killed; a full one gets none anyway. */
static void steer(struct child *c)
{
	bool still = c->watchdog.silent >= STEER_AFTER;

	if (c->state != (still ? CHILD_UP : CHILD_STILL))
		return;
	child_go(c, still ? CHILD_STILL : CHILD_UP);
	log_notice(
		"%s (process %d) %s", CHILD_NAME(c), (int)c->pid, still ? "hangs" : "runs again");
}

/* False: c cannot be killed. */
static bool look_at(struct child *c)
{
	unsigned limit = (unsigned)c->gen->conf->worker_watchdog;
	enum watchdog_step step;

	/* A start has its own limit; a kind that never ticks is not checked. */
	if (c->state == CHILD_EMPTY || c->state == CHILD_START ||
		(c->board == NULL && !(c->kind->says & CHILD_SAYS(CTL_TICK))))
		return true;
	step = watchdog_look(
		&c->watchdog, c->board != NULL ? BOARD_LOAD(c->board->ticks) : c->ticks, limit);
	steer(c);
	if (step == WATCHDOG_STUCK)
		end_stuck(c, limit);
	if (step == WATCHDOG_KILL)
		child_kill(c, SIGKILL);
	if (step == WATCHDOG_BEYOND && c->watchdog.silent == limit + BEYOND_AFTER)
		log_error("%s (process %d) survives SIGKILL", CHILD_NAME(c), (int)c->pid);
	return step != WATCHDOG_BEYOND;
}

void watchdog_second(struct master *m)
{
	bool fine = true;

	LIST_EACH(struct gen, g, node, &m->gens.all)
		GEN_FOREACH(c, g)
			fine = look_at(c) && fine;
	if (m->current != NULL)
		loan_offer(m->current);
	if (fine)
		notify_watchdog();
	if (fine && master_is_leaving(m))
		notify_leaving();
}

/* --- listening sockets ------------------------------------------------------------------------ */

/* The service manager, which may have it too, identifies a unix socket by its file. */
static int mend_stored(struct sockets_entry *e, unsigned slot, char *err, size_t errsize)
{
	int rc;

	if (e->passed || !e->listener.shared)
		return listener_mend(&e->listener, slot, e->file.mode, err, errsize);
	fdstore_remove(&e->listener);
	rc = listener_mend(&e->listener, slot, e->file.mode, err, errsize);
	if (rc > 0)
		sockets_own(e);
	fdstore_put(&e->listener);
	return rc;
}

static void mend_one(struct master *m, struct sockets_entry *e, unsigned slot)
{
	char text[ADDR_TEXT], err[256];
	int rc = mend_stored(e, slot, err, sizeof(err));

	addr_format(&e->listener.addr, text, sizeof(text));
	if (rc < 0) {
		log_peer(LEVEL_ERROR, "cannot reopen a socket of %s: %s", text, err);
		return;
	}
	log_peer(LEVEL_ERROR,
		"a socket of %s was shut down; reopened it: a worker may be compromised", text);
	if (rc == 0)
		balance_apply(m);
	else
		gen_send(m->current, CHILD_LISTENERS | CHILD_INBOXES, DUE_SOCKETS);
}

void mend_second(struct master *m)
{
	if (!master_is_alone(m))
		return;
	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all) {
		const struct listener *l = &e->listener;
		unsigned n = l->shared ? 1 : l->nlistening;

		for (unsigned k = 0; k < n; k++)
			if (!listener_stands(l, k))
				mend_one(m, e, k);
	}
}

/* True if c shares it with others and accepts from it. */
static bool shares(const struct child *c, unsigned i)
{
	const struct gen *g = c->gen;
	bool all = g->inboxes.n > 0 && !conf_listen_is_own(&g->conf->listens[i]);

	return g->sockets[i] != NULL && g->sockets[i]->listener.shared &&
	       all == ((c->kind->gets & CHILD_INBOXES) != 0);
}

bool mend_fill(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct gen *g = c->gen;

	if (g->state != GEN_SERVE)
		return false;
	for (unsigned i = 0; i < g->conf->nlistens; i++) {
		if (!shares(c, i) || n-- > 0)
			continue;
		*msg = (struct ctl_msg){
			.type = CTL_LISTEN, .listener = g->sockets[i]->listener.id, .slot = c->slot
		};
		fds[0] = g->sockets[i]->listener.fds[0];
		*nfds = 1;
		return true;
	}
	return false;
}
