/*
 * check_loop: the order of a turn, what a removed watch no longer hears, that what is made ready
 * waits for the next turn, and that timers wake the loop. No test waits for luck: every turn has
 * its event.
 */
#include "event/loop.h"

#include <sys/eventfd.h>
#include <sys/time.h>

#include "base/clock.h"
#include "unit.h"

enum { WATCHES = 100 };

struct source {
	struct watch watch;
	int heard;
};

static struct loop loop;
static struct source sources[WATCHES];
static char trace[200];

static void say(const char *what)
{
	strcat(strcat(trace, trace[0] != '\0' ? " " : ""), what);
}

static void on_event(struct watch *w, uint32_t events)
{
	ck_assert_uint_eq(events & EPOLLIN, EPOLLIN);
	((struct source *)(void *)w)->heard++;
}

static void open_sources(int n, void (*fn)(struct watch *w, uint32_t events))
{
	for (int i = 0; i < n; i++) {
		sources[i] = (struct source){ .watch.fn = fn };
		sources[i].watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		ck_assert_int_ge(sources[i].watch.fd, 0);
		ck_assert_int_eq(loop_watch(&loop, &sources[i].watch, EPOLLIN), 0);
	}
}

static void close_sources(int n)
{
	for (int i = 0; i < n; i++) {
		loop_unwatch(&loop, &sources[i].watch);
		close(sources[i].watch.fd);
	}
}

static void ring(int i)
{
	ck_assert_int_eq(eventfd_write(sources[i].watch.fd, 1), 0);
}

UNIT_SETUP(setup)
{
	ck_assert_int_eq(loop_init(&loop), 0);
	trace[0] = '\0';
}

UNIT_TEARDOWN(teardown)
{
	loop_fini(&loop);
}

/* Edge-triggered, and more events than one turn takes. */
TEST(all_are_heard_once)
{
	int turns = 0, heard;

	open_sources(WATCHES, on_event);
	for (int i = 0; i < WATCHES; i++)
		ring(i);
	do {
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
		heard = 0;
		for (int i = 0; i < WATCHES; i++) {
			ck_assert_int_le(sources[i].heard, 1);
			heard += sources[i].heard;
		}
	} while (++turns < 10);
	ck_assert_int_eq(heard, WATCHES);
	ck_assert_uint_eq(loop.turns, 10);
	ring(3);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_int_eq(sources[3].heard, 2);
	close_sources(WATCHES);
}

TEST(errors)
{
	struct watch w = { .fn = on_event, .fd = -1 };

	ck_assert_int_eq(loop_watch(&loop, &w, EPOLLIN), -EBADF);
	ck_assert(!w.active);
	loop_unwatch(&loop, &w);
}

/* The first that is heard removes all others, whatever their place in the batch. */
static void on_event_remove_others(struct watch *w, uint32_t events)
{
	on_event(w, events);
	for (int i = 0; i < 10; i++) {
		if (&sources[i].watch != w)
			loop_unwatch(&loop, &sources[i].watch);
	}
}

TEST(removed_in_batch)
{
	int heard = 0;

	open_sources(10, on_event_remove_others);
	for (int i = 0; i < 10; i++)
		ring(i);
	for (int turn = 0; turn < 3; turn++)
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
	for (int i = 0; i < 10; i++)
		heard += sources[i].heard;
	ck_assert_int_eq(heard, 1);
	close_sources(10);
}

/* The same watch with another descriptor: the old one's event in this batch is not the new one's.
 */
static void on_event_renew_others(struct watch *w, uint32_t events)
{
	on_event(w, events);
	for (int i = 0; i < 2; i++) {
		struct watch *other = &sources[i].watch;

		if (other == w)
			continue;
		loop_unwatch(&loop, other);
		close(other->fd);
		other->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		other->fn = on_event;
		ck_assert_int_eq(loop_watch(&loop, other, EPOLLIN), 0);
	}
}

TEST(renewed_in_batch)
{
	int other;

	open_sources(2, on_event_renew_others);
	ring(0);
	ring(1);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_eq(sources[0].heard + sources[1].heard, 1);
	other = sources[0].heard == 0 ? 0 : 1;
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_eq(sources[other].heard, 0);
	ring(other);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_eq(sources[other].heard, 1);
	close_sources(2);
}

/* A descriptor that somebody else holds too is silent after loop_unwatch() and close. */
TEST(shared_open_file)
{
	int copy;

	open_sources(1, on_event);
	copy = dup(sources[0].watch.fd);
	close_sources(1);
	ck_assert_int_eq(eventfd_write(copy, 1), 0);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_eq(sources[0].heard, 0);
	close(copy);
}

static struct task tasks[6];
static struct timer timer;

static void on_ready(struct task *t)
{
	say("ready");
	ck_assert(!list_linked(&t->node));
	loop_ready(&loop, &tasks[1]);
	loop_at_turn_end(&loop, &tasks[2]);
}

static void on_ready_next(struct task *t)
{
	say("next");
}

static void on_turn_end(struct task *t)
{
	say("end");
	loop_at_turn_end(&loop, &tasks[3]);
}

static void on_turn_end_late(struct task *t)
{
	say("late");
}

static void on_deferred(struct task *t)
{
	say("free");
	loop_defer(&loop, &tasks[5]);
}

static void on_deferred_more(struct task *t)
{
	say("more");
}

static void on_timer(struct timer *t)
{
	say("timer");
}

static void on_event_order(struct watch *w, uint32_t events)
{
	on_event(w, events);
	say("event");
	loop_defer(&loop, &tasks[4]);
	loop_defer(&loop, &tasks[4]);
	loop_at_turn_end(&loop, &tasks[2]);
	timer_arm(&loop.wheel, &timer, 0);
}

TEST(order_of_a_turn)
{
	task_init(&tasks[0], on_ready);
	task_init(&tasks[1], on_ready_next);
	task_init(&tasks[2], on_turn_end);
	task_init(&tasks[3], on_turn_end_late);
	task_init(&tasks[4], on_deferred);
	task_init(&tasks[5], on_deferred_more);
	timer_init(&timer, on_timer);
	open_sources(1, on_event_order);
	ring(0);
	loop_ready(&loop, &tasks[0]);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_str_eq(trace, "event timer ready end late free more");
	/* It does not wait while something is ready. */
	trace[0] = '\0';
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_str_eq(trace, "next");
	close_sources(1);
}

TEST(what_is_queued_between_turns_runs)
{
	task_init(&tasks[3], on_turn_end_late);
	task_init(&tasks[5], on_deferred_more);
	loop_defer(&loop, &tasks[5]);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	loop_at_turn_end(&loop, &tasks[3]);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_str_eq(trace, "more late");
}

static void on_ready_cancel(struct task *t)
{
	say("cancels");
	loop_cancel(t == &tasks[0] ? &tasks[1] : &tasks[0]);
}

TEST(cancel)
{
	task_init(&tasks[0], on_ready_cancel);
	task_init(&tasks[1], on_ready_cancel);
	loop_cancel(&tasks[0]);
	loop_ready(&loop, &tasks[0]);
	loop_ready(&loop, &tasks[1]);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_str_eq(trace, "cancels");
}

static void on_timer_stop(struct timer *t)
{
	ck_assert_uint_ge(clock_ms(), t->at);
	say("timer");
	loop_stop(&loop);
}

TEST(timer_wakes)
{
	uint64_t start = clock_read_us();

	timer_init(&timer, on_timer_stop);
	clock_update();
	timer_arm(&loop.wheel, &timer, clock_ms() + 30);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(trace, "timer");
	ck_assert_uint_ge(clock_read_us() - start, 29000);
	/* The way there goes over a few slots of the wheel, not over every millisecond. */
	ck_assert_uint_le(loop.turns, 6);
}

/* What was ready when a process stood still is heard before the timers whose time passed. */
static void on_event_say(struct watch *w, uint32_t events)
{
	on_event(w, events);
	say(w == &sources[WATCHES - 1].watch ? "last" : "");
}

static void stand_still_past_the_timer(void)
{
	timer_init(&timer, on_timer_stop);
	timer_arm(&loop.wheel, &timer, clock_ms() + 2);
	while (clock_past_ms() < timer.at)
		usleep(1000);
}

TEST(timer_behind_all_that_was_ready)
{
	open_sources(WATCHES, on_event);
	stand_still_past_the_timer();
	for (int i = 0; i < WATCHES; i++)
		ring(i);
	sources[WATCHES - 1].watch.fn = on_event_say;
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(trace, "last timer");
	close_sources(WATCHES);
}

static void on_alarm(int sig)
{
	stand_still_past_the_timer();
	ring(WATCHES - 1);
}

/* The wait ends by EINTR, and has looked at nothing. */
TEST(timer_behind_what_came_with_a_signal)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value.tv_usec = 2000 };

	open_sources(WATCHES, on_event);
	sources[WATCHES - 1].watch.fn = on_event_say;
	ck_assert_int_eq(sigaction(SIGALRM, &sa, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(trace, "last timer");
	close_sources(WATCHES);
}

/* A process that works for long in each turn ticks in each, no more seldom. */
TEST(timer_behind_a_long_turn)
{
	stand_still_past_the_timer();
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_str_eq(trace, "timer");
	loop.stop = false;
}

/* More is always ready than a turn takes, of a few that never rest. */
static void on_event_again(struct watch *w, uint32_t events)
{
	on_event(w, events);
	ck_assert_int_eq(eventfd_write(w->fd, 1), 0);
}

TEST(timer_fires_under_full_turns)
{
	open_sources(WATCHES, on_event_again);
	timer_init(&timer, on_timer_stop);
	timer_arm(&loop.wheel, &timer, 0);
	for (int i = 0; i < WATCHES; i++)
		ring(i);
	ck_assert_int_eq(loop_run(&loop), 0);
	for (int i = 0; i < WATCHES; i++)
		ck_assert_int_ge(sources[i].heard, 1);
	ck_assert_uint_le(loop.turns, 4);
	close_sources(WATCHES);
}

TEST(waits_at_most)
{
	timer_init(&timer, on_timer_stop);
	timer_arm(&loop.wheel, &timer, clock_ms() + 3600000);
	ck_assert_int_eq(loop_turn(&loop, 1), 0);
	ck_assert_str_eq(trace, "");
	timer_disarm(&loop.wheel, &timer);
}

TEST(stop_before_run)
{
	loop_stop(&loop);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_uint_eq(loop.turns, 0);
	timer_init(&timer, on_timer_stop);
	timer_arm(&loop.wheel, &timer, 0);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_uint_eq(loop.turns, 1);
}

/* Whatever the machine's own time is, a turn's timers go by the time that a test has set. */
TEST(timers_of_frozen_time)
{
	clock_set(UINT64_C(1000000), (struct timespec){ 0 });
	wheel_init(&loop.wheel, 0);
	timer_init(&timer, on_timer);
	timer_arm(&loop.wheel, &timer, 1001);
	ck_assert_uint_eq(clock_now_ms(), 1000);
	ck_assert_uint_eq(clock_past_ms(), 1000);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_str_eq(trace, "");
	clock_set(UINT64_C(1001000), (struct timespec){ 0 });
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_str_eq(trace, "timer");
}

TEST(past_is_over)
{
	uint64_t began = clock_read_us() / 1000, past;

	do {
		past = clock_past_ms();
		ck_assert_uint_le(past, clock_read_us() / 1000);
		ck_assert_uint_ge(past, clock_ms());
	} while (past < began + 20);
}

TEST(clock_is_cached)
{
	struct timespec wall = { .tv_sec = 1000, .tv_nsec = 5 };

	clock_set(1234567, wall);
	ck_assert_uint_eq(clock_ms(), 1234);
	ck_assert_uint_eq(clock_us(), 1234567);
	ck_assert_int_eq(clock_wall().tv_sec, 1000);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_uint_gt(clock_wall().tv_sec, 1000000000);
	ck_assert_uint_le(clock_us(), clock_read_us());
}
