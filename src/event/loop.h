/*
 * loop: the edge-triggered epoll loop of a process. A turn is: wait, clock, events, timers, ready
 * tasks, end-of-turn tasks, deferred frees. No memory is freed inside an event batch: an object
 * that ends is closed with loop_unwatch() and freed by loop_defer(), when the batch is over; a
 * removed watch gets no further callback, not even from the current batch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

#include "base/list.h"

/*
 * timer: a hierarchical timer wheel in milliseconds. Arming, re-arming and disarming are O(1); a
 * timer fires in the first turn after its time, never before. A timer is a member of its owner,
 * which disarms it before it is freed; the loop advances the wheel.
 */

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

struct loop;

/* A watched descriptor; a member of its owner. Zero it before the first use. */
struct watch {
	void (*fn)(struct watch *w,
		uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR */
	int fd;
	bool active; /* loop's own */
};

/* A task to do once: in the next turn (ready), at the end of this one, or when the batch is
 * over. */
struct task {
	void (*fn)(struct task *t);
	struct list node; /* task_init() it; list_linked() while it is queued */
};

static inline void task_init(struct task *t, void (*fn)(struct task *t))
{
	t->fn = fn;
	list_init(&t->node);
}

struct loop {
	int epfd;
	bool stop;
	struct wheel wheel;
	struct list ready;    /* tasks for the next turn: leftovers of budgets */
	struct list turn_end; /* tasks for the end of this turn: gathered writes */
	struct list deferred; /* tasks that free */
	struct watch **batch; /* watches of the events of this turn, NULLed by loop_unwatch */
	int batch_len;
	int watches;
	struct {
		int heard;        /* events of the current look; 0: none is under way */
		uint64_t from_ms; /* when it began */
	} look;
	uint64_t turns;
};

/* Makes epfd the epoll instance of this process's next loop. */
void loop_take(int epfd);

/* 0, or -errno. */
int loop_init(struct loop *l);

/* Runs deferred tasks, asserts that no other is queued, and closes the epoll descriptor. */
void loop_fini(struct loop *l);

/*
 * Watches w->fd for events (EPOLLET is added; EPOLLEXCLUSIVE allowed). The owner keeps the
 * descriptor and closes it after loop_unwatch(). 0, or -errno.
 */
int loop_watch(struct loop *l, struct watch *w, uint32_t events);

/* Harmless if it is not watched. */
void loop_unwatch(struct loop *l, struct watch *w);

/* Queue a task; a task that is queued already stays where it is. */
void loop_ready(struct loop *l, struct task *t);
void loop_at_turn_end(struct loop *l, struct task *t);
void loop_defer(struct loop *l, struct task *t);

/* Removes a queued task; harmless if it is not queued. */
void loop_cancel(struct task *t);

/* One turn; waits at most max_wait_ms (-1: until an event). 0, or -errno. */
int loop_turn(struct loop *l, int max_wait_ms);

/* Turns until loop_stop(). 0, or -errno. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

/*
 * sig: signals as events of the loop, by signalfd(2). The signals given to sig_init() are blocked
 * in the process and handed to one callback; a forked child calls sig_reset() before it calls
 * sig_init() for its own. A process never has two of these.
 */

struct sig {
	struct watch watch;
	void (*fn)(struct sig *s, const struct signalfd_siginfo *info);
};

/* Blocks the signals of set and delivers them to fn. NULL: all that the master may get from people,
 * for its children: a terminal sends INT to the whole group. 0, or -errno: it must end. */
int sig_init(struct sig *s, struct loop *l, const sigset_t *set,
	void (*fn)(struct sig *s, const struct signalfd_siginfo *info));
void sig_fini(struct sig *s, struct loop *l);

/* Unblocks all signals and restores default dispositions (SIGPIPE and SIGXFSZ stay ignored). */
void sig_reset(void);
