/*
 * clock: the time of this loop turn. The loop calls clock_update() once per turn; all other code
 * reads the cached value, so that one turn has one time. Tests set it. Protocol code takes
 * the time as an argument, but in h2_window, which others call outside of its own turn.
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

/* Reads CLOCK_MONOTONIC now, not cached: for measuring. */
uint64_t clock_read_us(void);

/* What this thread has had of a processor so far, in microseconds: for measuring a cost, which
 * others who keep the machine busy do not raise. */
uint64_t clock_read_cpu_us(void);

/* For tests: freezes the cached time at these values until clock_update() is called. */
void clock_set(uint64_t mono_us, struct timespec wall);

#endif
