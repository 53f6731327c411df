/* launch: reads what to take along from the row of the process's kind, whichever it is. */
#include "master/launch.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/doubts.h"
#include "master/master_state.h"

enum {
	/* A keeper's numbers exceed those of the one before, which may continue for a while. */
	IMAGES_BEHIND = 1000,
	FORK_RETRY_MS = 100,
};

static void on_respawn(struct timer *t)
{
	launch(LIST_ENTRY(t, struct child, respawn));
}

void launch_init(struct gen *g, const struct child_env *env)
{
	GEN_FOREACH(c, g) {
		child_init(c, env);
		timer_init(&c->respawn, on_respawn);
	}
}

void launch_later(struct child *c, unsigned ms)
{
	timer_arm(&c->env->loop->wheel, &c->respawn, clock_ms() + ms);
}

void launch_cancel(struct child *c)
{
	timer_disarm(&c->env->loop->wheel, &c->respawn);
}

int launch(struct child *c)
{
	struct gen *g = c->gen;
	struct master *m = g->master;
	int rc;

	c->watchdog = (struct watchdog){ 0 };
	if (c->kind->gets & CHILD_DOUBTS)
		doubts_mend(g);
	if (c->kind->says & CHILD_SAYS(CTL_CACHE))
		g->facts = (struct cache_facts){ .v[CACHE_FACT_pending] = 1 };
	if (c->kind->board)
		c->board = board_take(m->shared.board, c->slot, g->number);
	rc = c->kind->board && c->board == NULL ? -ENOSPC : child_start(c);
	if (rc < 0) {
		log_error("cannot start a process: %s", strerror(-rc));
		if (c->board != NULL)
			board_release(m->shared.board, &c->board);
		/* The machine may soon have room again, and meanwhile connections wait here. */
		if (g->state != GEN_DRAIN)
			launch_later(c, FORK_RETRY_MS);
		return -1;
	}
	if (c->board != NULL)
		c->board->pid = c->pid;
	if (c->kind->says & CHILD_SAYS(CTL_IMAGE))
		m->next_image += IMAGES_BEHIND;
	if (c->kind->gets & CHILD_IMAGES)
		child_send(c, DUE_IMAGE);
	if (c->kind->gets & CHILD_SERVE && g->state == GEN_SERVE)
		child_send(c, DUE_SERVE);
	gen_show(m->current, &m->shared.board->head);
	return 0;
}
