/*
 * health: keeps the facts that make health say 503. Drain tells it of the end, master_signal of
 * what an operator asks for, succession of what the master before was asked for.
 */
#include "master/health.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/master_state.h"
#include "master/outcome.h"

bool health_has(const struct master *m, enum board_health fact)
{
	return m->board->head.health & fact;
}

void health_set(struct master *m, enum board_health fact, bool holds)
{
	uint32_t *facts = &m->board->head.health;
	uint32_t now = holds ? *facts | fact : *facts & ~(uint32_t)fact;
	char text[FLAGS_TEXT];

	if (now == *facts)
		return;
	__atomic_store_n(facts, now, __ATOMIC_RELAXED);
	if (now == 0)
		log_notice("health says 200 again");
	else
		log_notice("health says 503: %s", flags_text(board_health_words, now, text));
}

/* The first image has come, or, by the clock's first millisecond, an upgrade before it. */
static void set_warm(struct master *m, uint64_t at_ms)
{
	__atomic_store_n(&m->board->head.warm_ms, at_ms, __ATOMIC_RELAXED);
}

void health_look(struct master *m)
{
	const struct board_head *h = &m->board->head;
	const struct gen *g = m->current;

	if (g == NULL || m->phase == MASTER_LEAVE)
		return;
	if (h->image != 0 && h->warm_ms == 0)
		set_warm(m, clock_ms());
	health_set(m, BOARD_HEALTH_IMAGE,
		g->conf->health_image && g->conf->cache.max_size > 0 && h->warm_ms == 0);
}

/* A master that takes over takes no machine out of its balancer while it reads the files. */
void health_begin(struct master *m, const struct gen *old)
{
	(void)old;
	if (m->phase == MASTER_TAKE)
		set_warm(m, 1);
	health_look(m);
}

void health_drain(struct master *m, bool drained)
{
	uint32_t others = m->board->head.health & ~(uint32_t)BOARD_HEALTH_DRAINED;
	char words[FLAGS_TEXT], text[FLAGS_TEXT + 64];

	outcome_begin(m);
	health_set(m, BOARD_HEALTH_DRAINED, drained);
	if (drained)
		status_add(&m->next, "drained: health says 503, and everything is served still");
	else if (others == 0)
		status_add(&m->next, "undrained: health says 200");
	else {
		snprintf(text, sizeof(text), "undrained, but health says 503: %s",
			flags_text(board_health_words, others, words));
		status_add(&m->next, text);
	}
	m->next.generation = m->current->number;
	outcome_end(m, true);
}
