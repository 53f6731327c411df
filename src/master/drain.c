/*
 * drain: the end of generations. Called by reload, child and master. A process that overstays its
 * shutdown-timeout by a second gets SIGTERM, and SIGKILL another second later.
 */
#include "master/drain.h"

#include <signal.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/child.h"
#include "master/master.h"

enum { OVERSTAY_MS = 1000, CUT_MS = 3000 };

/* fn for the keeper and each worker. */
static void each(struct gen *g, void (*fn)(struct child *c))
{
	fn(&g->keeper);
	for (unsigned i = 0; i < g->nworkers; i++)
		fn(&g->workers[i]);
}

static void ask(struct child *c)
{
	if (c->pid == 0)
		return;
	/* One that is not up has nothing to finish, and may never come to read a message. */
	if (c->up || c->kind == CHILD_KEEPER)
		child_send(c, DUE_DRAIN);
	else
		child_kill(c, SIGTERM);
}

static void terminate(struct child *c)
{
	child_kill(c, SIGTERM);
}

static void slay(struct child *c)
{
	child_kill(c, SIGKILL);
}

static void arm(struct gen *g, uint64_t ms)
{
	timer_arm(&g->master->loop.wheel, &g->deadline, clock_ms() + ms);
}

static void on_deadline(struct timer *t)
{
	struct gen *g = LIST_ENTRY(t, struct gen, deadline);

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
	g->state = GEN_DRAIN;
	gen_drop_image(g);
	timer_init(&g->deadline, on_deadline);
	each(g, child_give_up);
}

void drain_begin(struct gen *g)
{
	leave(g);
	arm(g, g->conf->shutdown_timeout * 1000 + OVERSTAY_MS);
	each(g, ask);
	drain_check(g);
}

void drain_cut(struct gen *g)
{
	leave(g);
	if (!g->terminated) {
		g->terminated = true;
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
	master_gen_gone(m);
}

void drain_check(struct gen *g)
{
	bool empty = g->keeper.pid == 0;

	for (unsigned i = 0; i < g->nworkers; i++)
		empty = empty && g->workers[i].pid == 0;
	if (!empty || !list_linked(&g->node))
		return;
	log_info("generation %u is gone", g->number);
	timer_disarm(&g->master->loop.wheel, &g->deadline);
	list_remove(&g->node);
	task_init(&g->free, on_free);
	loop_defer(&g->master->loop, &g->free);
}

void drain_limit(struct master *m)
{
	unsigned n = 0;

	LIST_FOREACH(node, &m->gens)
		n += LIST_ENTRY(node, struct gen, node)->state == GEN_DRAIN;
	LIST_FOREACH(node, &m->gens) {
		struct gen *g = LIST_ENTRY(node, struct gen, node);

		if (n <= DRAIN_MAX)
			return;
		if (g->state != GEN_DRAIN)
			continue;
		log_warn("more than %d generations drain: generation %u is cut off", DRAIN_MAX, g->number);
		drain_cut(g);
		n--;
	}
}
