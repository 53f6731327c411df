/*
 * timer: the wheel. Level k holds timers whose time first differs from now in the k-th group of six
 * bits, so every slot is ahead of now and the lowest used level comes first; a slot of a higher
 * level is spread over the lower ones when now reaches it. Only the loop advances it.
 */
#include "event/loop.h"

#include <limits.h>

#include "base/assert.h"

enum {
	BITS = 6,
	TOP = WHEEL_LEVELS - 1,
};

_Static_assert(WHEEL_SLOTS == 1 << BITS, "a bit of used per slot");

void wheel_init(struct wheel *w, uint64_t now)
{
	w->now = now;
	w->armed = 0;
	for (int level = 0; level < WHEEL_LEVELS; level++) {
		w->used[level] = 0;
		for (int slot = 0; slot < WHEEL_SLOTS; slot++)
			list_init(&w->slots[level][slot]);
	}
}

static void wheel_put(struct wheel *w, struct timer *t)
{
	uint64_t at = t->at > w->now ? t->at : w->now;
	uint64_t differ = at ^ w->now;
	int level = differ != 0 ? (63 - __builtin_clzll(differ)) / BITS : 0;
	unsigned slot;

	if (level >= TOP) {
		uint64_t turn = w->now >> (BITS * TOP);
		uint64_t ahead = (at >> (BITS * TOP)) - turn;

		/* The last level is a ring: a timer too far away waits in the slot behind now,
		 * repeatedly. */
		level = TOP;
		slot = (unsigned)(turn + (ahead < WHEEL_SLOTS ? ahead : WHEEL_SLOTS - 1));
	} else {
		slot = (unsigned)(at >> (BITS * level));
	}
	slot %= WHEEL_SLOTS;
	list_append(&w->slots[level][slot], &t->node);
	w->used[level] |= UINT64_C(1) << slot;
}

/* Unlinks t; if it was alone in its slot, clears the slot's bit. */
static void unlink_timer(struct wheel *w, struct timer *t)
{
	struct list *head = t->node.prev;
	uintptr_t first = (uintptr_t)&w->slots[0][0];
	uintptr_t offset = (uintptr_t)head - first;

	if (head == t->node.next && offset < sizeof(w->slots)) {
		size_t i = offset / sizeof(struct list);

		w->used[i / WHEEL_SLOTS] &= ~(UINT64_C(1) << (i % WHEEL_SLOTS));
	}
	list_remove(&t->node);
}

void timer_arm(struct wheel *w, struct timer *t, uint64_t at)
{
	if (timer_armed(t))
		unlink_timer(w, t);
	else
		w->armed++;
	t->at = at;
	wheel_put(w, t);
}

void timer_disarm(struct wheel *w, struct timer *t)
{
	if (!timer_armed(t))
		return;
	unlink_timer(w, t);
	H2D_ASSERT(w->armed > 0);
	w->armed--;
}

/* The first used slot: its level and beginning. -1 when no timer is armed. */
static int first_slot(const struct wheel *w, uint64_t *begins)
{
	for (int level = 0; level < WHEEL_LEVELS; level++) {
		uint64_t turn = w->now >> (BITS * level);
		unsigned at = turn % WHEEL_SLOTS;
		uint64_t used = w->used[level];

		if (used == 0)
			continue;
		used = used >> at | used << (-at % WHEEL_SLOTS);
		*begins = (turn + (unsigned)__builtin_ctzll(used)) << (BITS * level);
		return level;
	}
	return -1;
}

int wheel_wait(const struct wheel *w, uint64_t now)
{
	uint64_t begins;

	if (first_slot(w, &begins) < 0)
		return -1;
	if (begins <= now)
		return 0;
	return begins - now < INT_MAX ? (int)(begins - now) : INT_MAX;
}

void wheel_advance(struct wheel *w, uint64_t now)
{
	struct list due;
	uint64_t begins;
	int level;

	if (now < w->now)
		return;
	/* Timers that are due are gathered first: a callback that arms for now waits for the next
	 * advance. */
	list_init(&due);
	while ((level = first_slot(w, &begins)) >= 0 && begins <= now) {
		unsigned slot = (begins >> (BITS * level)) % WHEEL_SLOTS;
		struct list *timers = &w->slots[level][slot];

		w->now = begins;
		w->used[level] &= ~(UINT64_C(1) << slot);
		if (level == 0) {
			list_splice(&due, timers);
			continue;
		}
		LIST_TAKE(struct timer, t, node, timers)
			wheel_put(w, t);
	}
	w->now = now;

	LIST_TAKE(struct timer, t, node, &due) {
		w->armed--;
		t->fn(t);
	}
}
