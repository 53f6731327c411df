/*
 * board_view: copies the scoreboard, again if a process was retired while that was done. Called by
 * the worker that was asked for /metrics; never writes to the board, never waits for the master.
 */
#include "board/board_view.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 100 };

static bool any(const struct counters *n)
{
	for (int i = 0; i < COUNTERS_CELLS; i++)
		if (counters_get(n, i) != 0)
			return true;
	return false;
}

static struct board_view_slot *slot_of(struct board_view *v, unsigned slot)
{
	struct board_view_slot *s = &v->slots[slot < BOARD_SLOTS ? slot : BOARD_SLOTS - 1];

	s->used = true;
	if (slot >= v->nslots)
		v->nslots = (unsigned)(s - v->slots) + 1;
	return s;
}

static void take_gone(struct board_view *v, const struct board_head *h)
{
	counters_read(&v->sum, &h->retired);
	route_times_add(&v->times, &h->retired_times);
	server_counts_add(&v->servers, &h->retired_servers);
	handler_counts_add(&v->handlers, &h->retired_handlers);
	for (unsigned i = 0; i < BOARD_SLOTS; i++)
		if (any(&h->retired_of[i]))
			counters_read(&slot_of(v, i)->n, &h->retired_of[i]);
}

static void take_living(struct board_view *v, unsigned slot, const struct board_slot *from)
{
	struct board_view_slot *s = slot_of(v, slot);
	uint32_t state = BOARD_LOAD(from->state);
	uint64_t image = BOARD_LOAD(from->image);
	struct counters n;

	counters_read(&n, &from->counters);
	for (int i = 0; i < COUNTERS_CELLS; i++) {
		int64_t *cell = (int64_t *)&n + i;

		if (counters_grows(i) && *cell < 0)
			*cell = 0;
	}
	counters_add(&s->n, &n);
	counters_add(&v->sum, &n);
	route_times_add(&v->times, &from->times);
	if (BOARD_LOAD(from->counts_servers) != 0)
		server_counts_add(&v->servers, &from->servers);
	if (handler_metrics.n > 0)
		handler_counts_add(&v->handlers, &from->handlers);
	if (s->living++ == 0 || image < s->image)
		s->image = image;
	s->memory += BOARD_LOAD(from->memory);
	s->descriptors += BOARD_LOAD(from->descriptors);
	if (state < BOARD_STATES)
		v->states[state]++;
}

static void take(const struct board *b, void *to)
{
	struct board_view *v = to;

	memset(v, 0, sizeof(*v));
	take_gone(v, &b->head);
	for (unsigned i = 0; i < BOARD_SLOTS; i++)
		if (BOARD_LOAD(b->head.taken[i]))
			take_living(v, BOARD_LOAD(b->head.who[i].slot), &b->slots[i]);
}

struct board_view *board_view_new(const struct board *b)
{
	struct board_view *v = malloc(sizeof(*v));

	if (v != NULL)
		board_read(b, TRIES, take, v);
	return v;
}

void board_view_free(struct board_view **v)
{
	free(*v);
	*v = NULL;
}
