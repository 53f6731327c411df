/*
 * clock: the time of this loop turn. The loop calls clock_update() once per turn; all other code
 * reads the cached value, so that one turn has one time. Tests set it. Protocol code takes
 * the time as an argument, but in h2_window, which others call outside of its own turn. No time
 * here is 0 for never: a machine may have been up for less than a second.
 */
#ifndef H2D_BASE_CLOCK_H
#define H2D_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Reads the clocks (CLOCK_MONOTONIC, CLOCK_REALTIME). */
void clock_update(void);

uint64_t clock_ms(void);          /* monotonic, milliseconds */
uint64_t clock_us(void);          /* monotonic, microseconds */
struct timespec clock_wall(void); /* wall clock */

/* Monotonic milliseconds now, where the turn's would be too old: in long steps, and where others
 * compare them with their own. */
uint64_t clock_now_ms(void);

/* A time that is over, by a tick of the kernel (4 ms, say) and by the turn's work at most. It costs
 * a fifth of clock_now_ms(). */
uint64_t clock_past_ms(void);

/* Reads CLOCK_MONOTONIC now, not cached: for measuring. Only the files that check-layers names call
 * it, for clock_set() does not freeze it. */
uint64_t clock_read_us(void);

/* Processor time of this thread so far, in microseconds: for measuring a cost, which others who
 * keep the machine busy do not raise. */
uint64_t clock_read_cpu_us(void);

/* For tests: freezes the time, in whatever way it is asked for, but for measuring, at these values
 * until clock_update() is called. */
void clock_set(uint64_t mono_us, struct timespec wall);

#endif
