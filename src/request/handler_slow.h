/*
 * handler_slow: names the handler whose call holds the loop up. A call is timed only if a thread
 * beside the loop asked for it, which it does LOOK_MS after the last one that was: the others pay
 * for two looks at a mark, and read no clock. Started and stopped by the worker; handler_call.h
 * brings the calls.
 */
#ifndef H2D_REQUEST_HANDLER_SLOW_H
#define H2D_REQUEST_HANDLER_SLOW_H

#include <stdbool.h>
#include <stdint.h>

/* Until then no call is timed. Where no thread can be had, the log says so, and none ever is. */
void handler_slow_start(void);
void handler_slow_stop(void);

/* Since when the call that is under way is timed, in microseconds; 0: no call is. Handler_slow's
 * own, which its thread writes, too. */
extern uint64_t handler_slow_mark;

static inline bool handler_slow_marked(void)
{
	return __builtin_expect(__atomic_load_n(&handler_slow_mark, __ATOMIC_RELAXED) != 0, 0);
}

/* A call is about to begin, or to end, and there is a mark. */
void handler_slow_begin(void) __attribute__((cold, noinline));
void handler_slow_end(void) __attribute__((cold, noinline));

#endif
