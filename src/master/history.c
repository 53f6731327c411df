/*
 * history: adds up what the workers show as their last second. Their words are taken as numbers and
 * no more: one that has gone mad can spoil the picture, nothing else.
 */
#include "master/history.h"

#include "base/clock.h"
#include "master/master_state.h"

enum { LOOK_MS = 1000 };

static void on_look(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, history);
	struct board_head *h = &m->board->head;
	const struct board_slot *s;
	uint32_t sum = 0;

	timer_arm(&m->loop.wheel, t, clock_ms() + LOOK_MS);
	for (unsigned i = 0; (s = board_next(m->board, &i)) != NULL;)
		sum += BOARD_LOAD(s->recent.requests);
	__atomic_store_n(&h->history[h->seconds % BOARD_HISTORY], sum, __ATOMIC_RELAXED);
	__atomic_store_n(&h->seconds, h->seconds + 1, __ATOMIC_RELEASE);
}

void history_start(struct master *m)
{
	timer_init(&m->history, on_look);
	timer_arm(&m->loop.wheel, &m->history, clock_ms() + LOOK_MS);
}

void history_stop(struct master *m)
{
	timer_disarm(&m->loop.wheel, &m->history);
}
