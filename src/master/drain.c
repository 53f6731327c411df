/*
 * drain: ends generations. Reload drains the one that was replaced, supervise tells of the deaths
 * that follow, and a signal to the master drains all. A process that overstays its shutdown-timeout
 * by a second gets SIGTERM, and SIGKILL another second later. A master that yields leaves them to
 * themselves, as one does that dies. Drain never starts a process.
 */
#include "master/drain.h"

#include <signal.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/log.h"
#include "machine/notify.h"
#include "master/health.h"
#include "master/launch.h"
#include "master/loan.h"
#include "master/master_state.h"
#include "master/outcome.h"
#include "master/shrink.h"

enum {
	OVERSTAY_MS = 1000,
	CUT_MS = 3000,
	UNBORN_MS = 1000, /* for one that is not up to heed SIGTERM: meanwhile it holds sockets */
};

static void each(struct gen *g, void (*fn)(struct child *c))
{
	GEN_FOREACH(c, g)
		fn(c);
}

/* A process that is not up has nothing to finish, and may never come to read a message. */
static bool is_unborn(const struct child *c)
{
	return c->pid != 0 && !c->up && c->kind->says & CHILD_SAYS(CTL_UP);
}

static void ask(struct child *c)
{
	if (is_unborn(c))
		child_kill(c, SIGTERM);
	else if (c->pid != 0)
		child_send(c, DUE_DRAIN);
}

static void terminate(struct child *c)
{
	child_kill(c, SIGTERM);
}

static void slay(struct child *c)
{
	child_kill(c, SIGKILL);
}

static void slay_unborn(struct child *c)
{
	char who[32];

	if (!is_unborn(c))
		return;
	child_name(c, who, sizeof(who));
	log_warn("%s (process %d, generation %u) was not up and does not leave: killed", who,
		(int)c->pid, c->gen->number);
	slay(c);
}

static void arm(struct gen *g, uint64_t ms)
{
	timer_arm(&g->master->loop.wheel, &g->deadline, clock_ms() + ms);
}

static void on_deadline(struct timer *t)
{
	struct gen *g = LIST_ENTRY(t, struct gen, deadline);

	if (g->unborn) {
		g->unborn = false;
		each(g, slay_unborn);
		arm(g, g->conf->shutdown_timeout * 1000 + OVERSTAY_MS - UNBORN_MS);
		return;
	}
	if (g->terminated) {
		log_error("generation %u does not end: killed", g->number);
		each(g, slay);
	} else {
		log_warn("generation %u overstays its shutdown-timeout: terminated", g->number);
		g->terminated = true;
		each(g, terminate);
	}
	arm(g, OVERSTAY_MS);
}

static void leave(struct gen *g)
{
	if (g->state == GEN_DRAIN)
		return;
	gen_go(g, GEN_DRAIN);
	gen_let_go(g);
	loan_forget(g);
	timer_init(&g->deadline, on_deadline);
	each(g, launch_cancel);
}

void drain_begin(struct gen *g)
{
	leave(g);
	GEN_FOREACH(c, g)
		g->unborn |= is_unborn(c);
	arm(g, g->unborn ? UNBORN_MS : g->conf->shutdown_timeout * 1000 + OVERSTAY_MS);
	each(g, ask);
	drain_check(g);
}

/* Ends g's processes now. */
static void drain_cut(struct gen *g)
{
	leave(g);
	if (!g->terminated) {
		g->terminated = true;
		g->unborn = false;
		arm(g, CUT_MS);
		each(g, terminate);
	}
	drain_check(g);
}

static void on_free(struct task *t)
{
	struct gen *g = LIST_ENTRY(t, struct gen, free);
	struct master *m = g->master;

	if (m->current == g)
		m->current = NULL; /* everything ends, and this one did before the others */
	gen_free(&g);
	m->ngens--;
	if (m->phase == MASTER_LEAVE && m->ngens == 0)
		loop_stop(&m->loop);
	if (m->phase == MASTER_SERVE)
		loop_defer(&m->loop, &m->grant); /* a reload may have waited for it */
}

/* None of g's processes is ours any more. */
static void end(struct gen *g)
{
	loan_gone(g);
	timer_disarm(&g->master->loop.wheel, &g->deadline);
	list_remove(&g->node);
	task_init(&g->free, on_free);
	loop_defer(&g->master->loop, &g->free);
}

void drain_check(struct gen *g)
{
	GEN_FOREACH(c, g)
		if (c->pid != 0)
			return;
	if (!list_linked(&g->node))
		return;
	outcome_gone(g->master, g);
	end(g);
}

unsigned drain_count(const struct master *m)
{
	unsigned n = 0;

	LIST_FOREACH(node, &m->gens)
		n += LIST_ENTRY(node, struct gen, node)->state == GEN_DRAIN;
	return n;
}

static void on_delay(struct timer *t)
{
	drain_all(LIST_ENTRY(t, struct master, delay), true);
}

void drain_init(struct master *m)
{
	timer_init(&m->delay, on_delay);
}

bool drain_announce(struct master *m)
{
	uint64_t delay = m->current != NULL ? m->current->conf->shutdown_delay : 0;

	if (delay == 0 || master_is_leaving(m))
		return false;
	master_go(m, MASTER_PART);
	log_notice("about to leave: health says so, and the drain begins in %u s", (unsigned)delay);
	notify_stopping("about to leave");
	health_set(m, BOARD_HEALTH_LEAVING, true);
	timer_arm(&m->loop.wheel, &m->delay, clock_ms() + delay * 1000);
	GEN_FOREACH(c, m->current)
		if (c->kind->gets & CHILD_SERVE)
			child_send(c, DUE_SERVE);
	return true;
}

void drain_all(struct master *m, bool gracefully)
{
	if (m->phase != MASTER_LEAVE) {
		notify_stopping(gracefully ? "draining" : "stopping");
		master_go(m, MASTER_LEAVE);
	}
	m->starting = NULL;
	timer_disarm(&m->loop.wheel, &m->limit);
	timer_disarm(&m->loop.wheel, &m->bind);
	timer_disarm(&m->loop.wheel, &m->delay);
	shrink_stop(m);
	/* Before the workers close theirs: they accept what is queued, and nothing may queue behind
	 * it. */
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

void drain_yield(struct master *m)
{
	log_notice("the next master gets the sockets; what is open is finished without this one");
	sockets_disown(&m->sockets);
	drain_all(m, true);
	notify_hold(true); /* sockets that are closed here stay in the store */
	LIST_FOREACH(node, &m->gens) {
		each(LIST_ENTRY(node, struct gen, node), child_disown);
		end(LIST_ENTRY(node, struct gen, node));
	}
}
