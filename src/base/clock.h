/*
 * clock: the time of this loop turn, which all code but the loop reads, so that one turn has one
 * time. Protocol code takes the time as an argument, except h2_window, which is called outside of
 * its own turn. 0 does not mean never: a machine may have been up for less than a second.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Reads the clocks (CLOCK_MONOTONIC, CLOCK_REALTIME). */
void clock_update(void);

uint64_t clock_ms(void);          /* monotonic, milliseconds */
uint64_t clock_us(void);          /* monotonic, microseconds */
struct timespec clock_wall(void); /* wall clock */

/* Monotonic milliseconds now: for long steps, where the turn's time is too old, and for times that
 * other processes compare with their own. */
uint64_t clock_now_ms(void);

/* A time in the past, by at most a tick of the kernel (4 ms, say) and the turn's work. It costs a
 * fifth of clock_now_ms(). */
uint64_t clock_past_ms(void);

/* Reads CLOCK_MONOTONIC now, not cached: for measuring. Only the files that check-layers names call
 * it, because clock_set() does not freeze it. */
uint64_t clock_read_us(void);

/* Processor time of this thread so far, in microseconds: measures a cost that other load on the
 * machine does not raise. */
uint64_t clock_read_cpu_us(void);

/* For tests: freezes all clocks at these values, except those for measuring, until clock_update()
 * is called. */
void clock_set(uint64_t mono_us, struct timespec wall);
