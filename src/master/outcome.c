/*
 * outcome: a master that does not own the pid file never writes. Processes' counts are read from
 * their slots of the scoreboard before those are released, and impossible ones are ignored.
 */
#include "master/outcome.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "board/board_health.h"
#include "master/master_state.h"

/* Writes the file, if there is a pid file of ours beside it. 0, or -errno, which is logged. */
static int outcome_write(const struct master *m)
{
	int rc = m->pidfile.mine ? status_write(&m->outcome.last, m->pidfile.path) : 0;

	if (rc < 0)
		log_warn("%s.status: %s", m->pidfile.path, strerror(-rc));
	return rc;
}

void outcome_begin(struct master *m)
{
	m->outcome.next = (struct status){ .upgrade = m->outcome.last.upgrade,
		.upgraded = m->outcome.last.upgraded };
	m->outcome.last.running = m->outcome.last.request + 1;
	outcome_write(m);
}

void outcome_end(struct master *m, bool ok)
{
	m->outcome.next.request = m->outcome.last.running;
	m->outcome.next.ok = ok;
	m->outcome.next.drained = (board_health(m->shared.board) & BOARD_HEALTH_DRAINED) != 0;
	memcpy(m->outcome.next.gone, m->outcome.last.gone, sizeof(m->outcome.next.gone));
	m->outcome.last = m->outcome.next;
	/* If it cannot be written, `h2d -s` sees the end by the pid file's time. */
	if (outcome_write(m) < 0)
		pidfile_name(&m->pidfile, getpid());
}

void outcome_replaced(struct master *m, const struct gen *old)
{
	char text[96];

	snprintf(text, sizeof(text), "generation %u → %u in %u ms", old->number, m->current->number,
		(unsigned)((clock_read_us() - m->build.begun_us) / 1000));
	m->outcome.next.replaced = old->number;
	board_count(&m->shared.board->head, BOARD_COUNT_reloads_done);
	status_add(&m->outcome.next, text);
	log_notice("%s", text);
}

static uint32_t outcome_count(const struct child *c, int counter)
{
	int64_t n = counters_get(&c->board->counters, counter);

	return n > 0 ? (uint32_t)n : 0;
}

/* Remaining connections were killed with it. */
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
	log_notice("generation %u exited: %u drained, %u cut, %u refused", g->number, gone.drained,
		gone.cut, gone.refused);
	memmove(m->outcome.last.gone + 1, m->outcome.last.gone,
		sizeof(m->outcome.last.gone) - sizeof(gone));
	m->outcome.last.gone[0] = gone;
	if (m->phase != MASTER_LEAVE)
		outcome_write(m);
}

bool health_has(const struct master *m, enum board_health fact)
{
	return m->shared.board->head.health & fact;
}

void health_set(struct master *m, enum board_health fact, bool holds)
{
	uint32_t *facts = &m->shared.board->head.health;
	uint32_t now = holds ? *facts | fact : *facts & ~(uint32_t)fact;
	char text[FLAGS_TEXT];

	if (now == *facts)
		return;
	__atomic_store_n(facts, now, __ATOMIC_RELAXED);
	if (now == 0)
		log_notice("health check passes again");
	else
		log_notice("health check fails: %s", flags_text(board_health_words, now, text));
}

/* The first image has come, or, at the clock's first millisecond, an upgrade before it. */
static void set_warm(struct master *m, uint64_t at_ms)
{
	__atomic_store_n(&m->shared.board->head.warm_ms, at_ms, __ATOMIC_RELAXED);
}

void health_look(struct master *m)
{
	const struct board_head *h = &m->shared.board->head;
	const struct gen *g = m->current;

	if (g == NULL || m->phase == MASTER_LEAVE)
		return;
	if (h->image != 0 && h->warm_ms == 0)
		set_warm(m, clock_ms());
	health_set(m, BOARD_HEALTH_IMAGE,
		g->conf->health_waits_for_cache && g->conf->cache.max_size > 0 && h->warm_ms == 0);
}

/* A master that takes over keeps the machine in its load balancer while it reads the files. */
void health_begin(struct master *m)
{
	if (m->phase == MASTER_TAKE)
		set_warm(m, 1);
	health_look(m);
}

void health_drain(struct master *m, bool drained)
{
	uint32_t others = m->shared.board->head.health & ~(uint32_t)BOARD_HEALTH_DRAINED;
	char words[FLAGS_TEXT], text[FLAGS_TEXT + 64];

	outcome_begin(m);
	health_set(m, BOARD_HEALTH_DRAINED, drained);
	if (drained)
		status_add(
			&m->outcome.next, "drained: health check fails, requests are still served");
	else if (others == 0)
		status_add(&m->outcome.next, "undrained: health check passes");
	else {
		snprintf(text, sizeof(text), "undrained, but health check fails: %s",
			flags_text(board_health_words, others, words));
		status_add(&m->outcome.next, text);
	}
	m->outcome.next.generation = m->current->number;
	outcome_end(m, true);
}
