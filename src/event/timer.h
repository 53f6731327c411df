/*
 * timer: a hierarchical timer wheel in milliseconds. Arming, re-arming and disarming are O(1); a
 * timer fires in the first turn after its time, never before. A timer is a member of its owner,
 * which disarms it before it is freed; the loop advances the wheel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

enum {
	WHEEL_LEVELS = 5,
	WHEEL_SLOTS = 64
}; /* 64^5 ms = 12 days; later ones wait in the last level */

struct timer {
	void (*fn)(struct timer *t);
	uint64_t at;      /* ms, clock_ms() */
	struct list node; /* timer_init() it; linked while armed */
};

struct wheel {
	uint64_t now;
	unsigned armed;
	uint64_t used[WHEEL_LEVELS]; /* bit per non-empty slot */
	struct list slots[WHEEL_LEVELS][WHEEL_SLOTS];
};

static inline void timer_init(struct timer *t, void (*fn)(struct timer *t))
{
	t->fn = fn;
	t->at = 0;
	list_init(&t->node);
}

void wheel_init(struct wheel *w, uint64_t now);

/* Fires at time at (ms); an armed timer is moved. */
void timer_arm(struct wheel *w, struct timer *t, uint64_t at);
void timer_disarm(struct wheel *w, struct timer *t);

static inline bool timer_armed(const struct timer *t)
{
	return list_linked(&t->node);
}

/* Milliseconds until a timer may fire (a lower bound), -1 if none is armed. */
int wheel_wait(const struct wheel *w, uint64_t now);

/* Sets the time to now and fires due timers; callbacks may arm and disarm any timer. */
void wheel_advance(struct wheel *w, uint64_t now);
