/*
 * health: keeps the facts that make health say 503. Drain tells it of the end, master_signal of what
 * an operator asks for, heir of what the master before was asked for.
 */
#include "master/health.h"

#include <stdio.h>

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
