/* clock: the cached time of a loop turn; see clock.h. */
#include "base/clock.h"

#include <stdbool.h>

static uint64_t mono;
static struct timespec wall;
static bool frozen; /* by clock_set() */

static uint64_t read_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t clock_read_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_read_cpu_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}

void clock_update(void)
{
	mono = clock_read_us();
	clock_gettime(CLOCK_REALTIME, &wall);
	frozen = false;
}

uint64_t clock_now_ms(void)
{
	return (frozen ? mono : clock_read_us()) / 1000;
}

/* The coarse clock advances by ticks: a short turn's time is nearer. */
uint64_t clock_past_ms(void)
{
	uint64_t tick = frozen ? 0 : read_us(CLOCK_MONOTONIC_COARSE);

	return (tick > mono ? tick : mono) / 1000;
}

uint64_t clock_ms(void)
{
	return mono / 1000;
}

uint64_t clock_us(void)
{
	return mono;
}

struct timespec clock_wall(void)
{
	return wall;
}

void clock_set(uint64_t mono_us, struct timespec wall_time)
{
	mono = mono_us;
	wall = wall_time;
	frozen = true;
}
