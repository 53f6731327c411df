/*
 * outcome: keeps PIDFILE.status true. A master that does not own the pid file, because another one
 * does, writes nothing. What processes counted is read from their slots of the
 * scoreboard before those are released, and is not believed where it cannot be.
 */
#include "master/outcome.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "board/board_health.h"
#include "master/master_state.h"

int outcome_write(const struct master *m)
{
	int rc = m->pidfile.mine ? status_write(&m->status, m->pidfile.path) : 0;

	if (rc < 0)
		log_warn("%s.status: %s", m->pidfile.path, strerror(-rc));
	return rc;
}

void outcome_begin(struct master *m)
{
	m->next = (struct status){ .upgrade = m->status.upgrade, .upgraded = m->status.upgraded };
	m->status.running = m->status.request + 1;
	outcome_write(m);
}

void outcome_end(struct master *m, bool ok)
{
	m->next.request = m->status.running;
	m->next.ok = ok;
	m->next.drained = (board_health(m->board) & BOARD_HEALTH_DRAINED) != 0;
	memcpy(m->next.gone, m->status.gone, sizeof(m->next.gone));
	m->status = m->next;
	/* Where nobody can write it, `h2d -s` sees by the pid file's time that it is over. */
	if (outcome_write(m) < 0)
		pidfile_name(&m->pidfile, getpid());
}

void outcome_replaced(struct master *m, const struct gen *old)
{
	char text[96];

	snprintf(text, sizeof(text), "generation %u → %u in %u ms", old->number, m->current->number,
		(unsigned)((clock_read_us() - m->build.begun_us) / 1000));
	m->next.replaced = old->number;
	board_count(&m->board->head, BOARD_COUNT_reloads_done);
	status_add(&m->next, text);
	log_notice("%s", text);
}

static uint32_t outcome_count(const struct child *c, int counter)
{
	int64_t n = counters_get(&c->board->counters, counter);

	return n > 0 ? (uint32_t)n : 0;
}

/* Connections that it still had, it was killed with. */
void outcome_add(struct gen *g, const struct child *c)
{
	g->gone.drained += outcome_count(c, COUNTER_connections_drained);
	g->gone.cut +=
		outcome_count(c, COUNTER_connections_cut) + outcome_count(c, COUNTER_connections);
	g->gone.refused += outcome_count(c, COUNTER_connections_refused);
}

void outcome_gone(struct master *m, const struct gen *g)
{
	struct status_gone gone = g->gone;

	gone.generation = g->number;
	log_notice("generation %u is gone: %u drained, %u cut, %u refused", g->number, gone.drained,
		gone.cut, gone.refused);
	memmove(m->status.gone + 1, m->status.gone, sizeof(m->status.gone) - sizeof(gone));
	m->status.gone[0] = gone;
	if (m->phase != MASTER_LEAVE)
		outcome_write(m);
}
