/*
 * handler_slow: the mark that makes a call timed, and the log line of one that took too long. The
 * thread sets the mark and sleeps until a call has ended with it; so it sleeps without calls.
 * Called by handler_call.h and by the worker.
 *
 * Only calls are ever blamed: each call that finds the mark at its beginning sets it again, and
 * each removes it at its end. A mark found at the end of a call was therefore set during it; it may
 * have begun up to LOOK_MS before.
 */
#include "request/handler_call.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/crash.h"
#include "base/log.h"

enum {
	LOOK_MS = 20,
	SLOW_MS = 100,
	TARGET_SHOWN = 100,
	STACK_BYTES = 256 << 10,
	MARK_NEW = 1, /* set, but its time is unread */
};

uint64_t handler_slow_mark;

static struct {
	pthread_t thread;
	bool started;
	sem_t taken; /* a call has ended with the mark */
	sem_t quit;
} slow;

/* --- in the thread ---------------------------------------------------------------------------- */

/* False: it is over. */
static bool pause_look(void)
{
	struct timespec until;
	uint64_t us = clock_read_us() + LOOK_MS * UINT64_C(1000);

	until.tv_sec = (time_t)(us / 1000000);
	until.tv_nsec = (long)(us % 1000000) * 1000;
	return sem_clockwait(&slow.quit, CLOCK_MONOTONIC, &until) != 0;
}

static void set_mark(void)
{
	uint64_t mark = MARK_NEW;

	__atomic_store_n(&handler_slow_mark, mark, __ATOMIC_SEQ_CST);
	/* Read afterwards: a call that began meanwhile has set the mark again. */
	__atomic_compare_exchange_n(&handler_slow_mark, &mark, clock_read_us(), false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void *thread_main(void *arg)
{
	while (pause_look()) {
		set_mark();
		sem_wait(&slow.taken);
	}
	return arg;
}

/* --- on the loop ------------------------------------------------------------------------------ */

void handler_slow_begin(void)
{
	/* A nested call counts for the outer one. */
	if (crash_doing() == NULL)
		__atomic_store_n(&handler_slow_mark, clock_read_us(), __ATOMIC_SEQ_CST);
}

static void handler_slow_say(const struct crash_call *call, uint64_t ms)
{
	bool asked = call->method.n > 0;
	int n = (int)(call->target.n < TARGET_SHOWN ? call->target.n : TARGET_SHOWN);

	log_peer(LEVEL_WARN, "handler %s blocked the loop for %u ms%s%.*s%s%.*s", call->handler,
		(unsigned)ms, asked ? ": " : "", SLICE_ARG(call->method), asked ? " " : "", n,
		call->target.p != NULL ? call->target.p : "");
	COUNT(handler_slow, 1);
}

void handler_slow_end(void)
{
	const struct crash_call *call = crash_doing();
	uint64_t since, ms;

	if (call->outer != NULL)
		return;
	since = __atomic_exchange_n(&handler_slow_mark, 0, __ATOMIC_SEQ_CST);
	ms = since > MARK_NEW ? (clock_read_us() - since) / 1000 : 0;
	sem_post(&slow.taken);
	if (ms >= SLOW_MS)
		handler_slow_say(call, ms);
}

/* --- start and stop --------------------------------------------------------------------------- */

void handler_slow_start(void)
{
	int rc;

	sem_init(&slow.taken, 0, 0);
	sem_init(&slow.quit, 0, 0);
	rc = crash_thread(&slow.thread, STACK_BYTES, thread_main, NULL);
	slow.started = rc == 0;
	if (rc != 0)
		log_warn("slow handlers are not detected: no thread: %s", strerror(-rc));
}

void handler_slow_stop(void)
{
	if (!slow.started)
		return;
	sem_post(&slow.quit);
	sem_post(&slow.taken);
	pthread_join(slow.thread, NULL);
	slow.started = false;
	handler_slow_mark = 0;
}
