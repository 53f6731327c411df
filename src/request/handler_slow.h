/*
 * handler_slow: names the handler whose call blocks the loop. A call is timed only if a thread
 * beside the loop requests it, LOOK_MS after the last timed one: the others only read a mark twice,
 * and no clock. Started and stopped by the worker; handler_call.h makes the calls.
 */
#ifndef H2D_REQUEST_HANDLER_SLOW_H
#define H2D_REQUEST_HANDLER_SLOW_H

#include <stdbool.h>
#include <stdint.h>

/* Before it no call is timed. Without a thread, which is logged, none ever is. */
void handler_slow_start(void);
void handler_slow_stop(void);

/* Time since which the current call is timed, in microseconds; 0: none. Handler_slow's own, which
 * its thread writes, too. */
extern uint64_t handler_slow_mark;

static inline bool handler_slow_marked(void)
{
	return __builtin_expect(__atomic_load_n(&handler_slow_mark, __ATOMIC_RELAXED) != 0, 0);
}

/* A call is about to begin, or to end, and there is a mark. */
void handler_slow_begin(void) __attribute__((cold, noinline));
void handler_slow_end(void) __attribute__((cold, noinline));

#endif
