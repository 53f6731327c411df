/*
 * log_limit: writes one line per second and kind of what peers can cause, and counts the rest.
 * log_peer() and err_log() call it, so that a peer that does wrong a thousand times a second never
 * fills a disk or a pipe. Its functions are declared in log.h.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/log.h"

enum { EVERY_MS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all kinds */
static struct log_kind *kinds;                           /* kinds that were used */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void say_rest(struct log_kind *kind)
{
	if (kind->rest > 0)
		log_write(kind->level, "%s … and %u more like it in the last second", kind->text,
			kind->rest);
	kind->rest = 0;
}

void log_limited(struct log_kind *kind, enum log_level level, const char *fmt, ...)
{
	uint64_t now = now_ms();
	va_list args;

	pthread_mutex_lock(&lock);
	if (!kind->listed) {
		kind->listed = true;
		kind->next = kinds;
		kinds = kind;
	} else if (now < kind->until_ms) {
		kind->rest++;
		pthread_mutex_unlock(&lock);
		return;
	}
	say_rest(kind);
	kind->level = level;
	kind->until_ms = now + EVERY_MS;
	va_start(args, fmt);
	vsnprintf(kind->text, sizeof(kind->text), fmt, args);
	va_end(args);
	va_start(args, fmt);
	log_vwrite(level, fmt, args);
	va_end(args);
	pthread_mutex_unlock(&lock);
}

void log_forget(void)
{
	for (struct log_kind *k = kinds; k != NULL; k = k->next)
		k->rest = 0;
}

void log_tick(bool end)
{
	uint64_t now = now_ms();

	log_say_lost();
	pthread_mutex_lock(&lock);
	for (struct log_kind *k = kinds; k != NULL; k = k->next)
		if (end || now >= k->until_ms)
			say_rest(k);
	pthread_mutex_unlock(&lock);
}
